! SPDX-License-Identifier: BSD-3-Clause
! Sends two numbers to another rank, and gets their sum back, in Fortran.
!
! Arguments are variables: no type has to be declared for them, and none has to
! be encoded. Both sides pass variables of the same type and shape.
!
! Rank 0 serves, all other ranks are clients.
module fortran_sum_served
  use amalgam
  implicit none
contains
  ! Runs at rank 0.
  subroutine sum_numbers(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: numbers(2)

    call amalgam_get_input(handle, numbers)
    ! Answers, and frees the handle.
    call amalgam_respond(handle, sum(numbers))
  end subroutine
end module

program fortran_sum
  use mpi_f08
  use amalgam
  use fortran_sum_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc
  integer :: rank, answer

  if (command_argument_count() > 0) error stop "fortran_sum takes no words"
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call amalgam_init(MPI_COMM_WORLD, class)
  ! All ranks register the RPC, also those that only call it.
  call amalgam_register(class, "sum", rpc, sum_numbers)
  if (rank > 0) then
    ! Waits for the answer. Without the argument ierror an error ends the job.
    call amalgam_call(rpc, 0, [rank, 100], answer)
    print "(a, i0, a, i0, a, i0)", "rank ", rank, ": ", rank, " + 100 = ", answer
  end if
  ! Each rank serves until all ranks are here.
  call amalgam_finalize(class)
  call MPI_Finalize()
end program
