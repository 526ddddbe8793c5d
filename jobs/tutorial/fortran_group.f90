! SPDX-License-Identifier: BSD-3-Clause
! Changes a parameter on all ranks, after a vote of all ranks, in Fortran.
!
! Rank 0 proposes a time step for a simulation. Each rank has a limit, and votes
! on the proposal. One call to all ranks carries the proposal, and MPI_SUM adds
! up the votes on their way back. Then a call with another reduction, MPI_MIN,
! asks for the smallest limit, which all ranks adopt.
!
! Only rank 0 calls; the other ranks serve in amalgam_finalize().
module fortran_group_served
  use amalgam
  implicit none
  integer :: own_limit = 0, own_rank = 0
contains
  ! Runs once on each rank of the group, also on rank 0.
  subroutine vote(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: step

    call amalgam_get_input(handle, step)
    call amalgam_respond(handle, [merge(1, 0, step <= own_limit), 1])
  end subroutine

  subroutine tell_limit(handle)
    type(amalgam_handle), intent(inout) :: handle

    call amalgam_respond(handle, own_limit)
  end subroutine

  subroutine adopt(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: step

    call amalgam_get_input(handle, step)
    print "(a, i0, a, i0, a)", "rank ", own_rank, ": a step takes ", step, " us"
    call amalgam_respond(handle)
  end subroutine
end module

program fortran_group
  use mpi_f08
  use amalgam
  use fortran_group_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc_vote, rpc_limit, rpc_adopt
  integer, parameter :: proposal = 800
  integer :: votes(2), limit, ierror
  integer, allocatable :: failed(:)

  if (command_argument_count() > 0) error stop "fortran_group takes no words"
  call MPI_Init()
  call amalgam_init(MPI_COMM_WORLD, class)
  call MPI_Comm_rank(MPI_COMM_WORLD, own_rank)
  own_limit = merge(1000, 600 / max(own_rank, 1), mod(own_rank, 2) == 0)
  call amalgam_register(class, "vote", rpc_vote, vote)
  call amalgam_register(class, "limit", rpc_limit, tell_limit)
  call amalgam_register(class, "adopt", rpc_adopt, adopt)
  ! All ranks set the reductions, because outputs are folded on their way.
  call amalgam_register_reduce_op(rpc_vote, MPI_SUM, MPI_INTEGER, 2)
  call amalgam_register_reduce_op(rpc_limit, MPI_MIN, MPI_INTEGER, 1)
  ! A rank has to set its reductions before calls come.
  call amalgam_barrier(class)

  if (own_rank == 0) then
    call amalgam_call_group(rpc_vote, AMALGAM_GROUP_ALL, proposal, votes)
    print "(a, i0, a, i0, a, i0, a)", "rank 0: ", proposal, " us: ", votes(1), &
        " of ", votes(2), " ranks agree"
    call amalgam_call_group(rpc_limit, AMALGAM_GROUP_ALL, out=limit)
    ! ierror and failed: if a rank did not answer, name it, and go on.
    call amalgam_call_group(rpc_adopt, AMALGAM_GROUP_ALL, limit, &
        failed=failed, ierror=ierror)
    if (ierror /= HG_SUCCESS) print *, "these ranks did not answer: ", failed
    deallocate(failed)
  end if
  call amalgam_finalize(class)
  call MPI_Finalize()
end program
