! SPDX-License-Identifier: BSD-3-Clause
! Ends a test with a line if something is not as it should be.
module checks
  implicit none
contains
  subroutine check(is_good, what)
    logical, intent(in) :: is_good
    character(len=*), intent(in) :: what
    if (is_good) return
    print *, "failed: ", what
    error stop 1
  end subroutine
end module
