! SPDX-License-Identifier: BSD-3-Clause
! The module works with the handles of the module mpi, which are integers; a
! rank answers while it waits for a request of MPI.
module integers_served
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

program integers
  use mpi
  use integers_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc
  type(amalgam_group) :: group
  type(amalgam_bulk) :: bulk
  integer :: rank, size, level, ierror, answer, mpigroup, request, word
  integer, target :: numbers(4)

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, ierror)
  call amalgam_init(MPI_COMM_WORLD, class, transport="mpi+p2p", credits=8, &
      message_bytes=1024, progress=AMALGAM_PROGRESS_CALLER)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call amalgam_register(class, "twice", rpc, twice)
  call amalgam_register_reduce_op(rpc, MPI_MAX, MPI_INTEGER, 1)
  call amalgam_bulk_create_type(class, numbers, 2, MPI_INTEGER, &
      HG_BULK_READ_ONLY, bulk)
  call amalgam_bulk_free(bulk)
  call MPI_Comm_group(MPI_COMM_WORLD, mpigroup, ierror)
  call amalgam_group_create(class, mpigroup, group)
  call MPI_Group_free(mpigroup, ierror)
  call amalgam_barrier(class)
  if (rank == 0) then
    call amalgam_call_group(rpc, group, 21, answer)
    if (answer /= 42) error stop 1
    do level = 1, size - 1
      call MPI_Send(level, 1, MPI_INTEGER, level, 0, MPI_COMM_WORLD, ierror)
    end do
  else
    call MPI_Irecv(word, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, request, ierror)
    call amalgam_wait(class, request)
    if (request /= MPI_REQUEST_NULL .or. word /= rank) error stop 2
  end if
  call amalgam_group_free(group)
  call amalgam_finalize(class)
  call MPI_Finalize(ierror)
end program
