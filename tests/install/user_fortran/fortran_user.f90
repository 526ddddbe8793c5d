! SPDX-License-Identifier: BSD-3-Clause
! A program of another project: each rank calls the next one.
module fortran_user_served
  use amalgam
  implicit none
contains
  subroutine twice(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: number

    call amalgam_get_input(handle, number)
    call amalgam_respond(handle, 2 * number)
  end subroutine
end module

program fortran_user
  use mpi_f08
  use fortran_user_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc
  integer :: rank, ranks, answer

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call amalgam_init(MPI_COMM_WORLD, class)
  call amalgam_register(class, "twice", rpc, twice)
  call amalgam_barrier(class)
  call amalgam_call(rpc, mod(rank + 1, ranks), rank + 20, answer)
  if (answer /= 2 * (rank + 20)) error stop 1
  call amalgam_finalize(class)
  call MPI_Finalize()
end program
