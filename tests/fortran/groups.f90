! SPDX-License-Identifier: BSD-3-Clause
! Calls to groups run once on each rank, fold outputs by operations of MPI, and
! name the ranks that fail; groups come from MPI and from arrays of ranks.
module group_served
  use amalgam
  use checks
  implicit none
  integer :: own_rank = -1, ran = 0
  type(amalgam_class) :: handler_class
  logical, volatile :: may_answer = .false.
contains
  subroutine vote(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: factor
    call amalgam_get_input(handle, factor)
    ran = ran + 1
    call amalgam_respond(handle, [factor * own_rank, 1])
  end subroutine

  ! Answers with another length than the reduction has.
  subroutine answer_short(handle)
    type(amalgam_handle), intent(inout) :: handle
    call amalgam_respond(handle, 1)
  end subroutine

  ! Answers when rank 0 has told it to.
  subroutine answer_late(handle)
    type(amalgam_handle), intent(inout) :: handle
    do while (.not. may_answer)
      call amalgam_progress(handler_class, 10)
    end do
    call amalgam_respond(handle)
  end subroutine

  subroutine let_answer(handle)
    type(amalgam_handle), intent(inout) :: handle
    call amalgam_get_input(handle)
    may_answer = .true.
  end subroutine
end module

program groups
  use mpi_f08
  use group_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc_vote, rpc_missing, rpc_short, rpc_late, rpc_let
  type(amalgam_group) :: odd, some, none
  type(MPI_Group) :: world, part
  integer, allocatable :: failed(:)
  integer :: rank, size, level, i, ierror, votes(2)
  type(amalgam_request) :: request

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call amalgam_init(MPI_COMM_WORLD, class)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  own_rank = rank
  call amalgam_register(class, "vote", rpc_vote, vote)
  call amalgam_register_reduce_op(rpc_vote, MPI_SUM, MPI_INTEGER, 2)
  call amalgam_register(class, "short", rpc_short, answer_short)
  call amalgam_register_reduce_op(rpc_short, MPI_SUM, MPI_INTEGER, 2)
  call amalgam_register(class, "late", rpc_late, answer_late)
  call amalgam_register(class, "let", rpc_let, let_answer, oneway=.true.)
  handler_class = class
  if (rank == 0) then
    call amalgam_register(class, "missing", rpc_missing, vote)
  end if
  call amalgam_barrier(class)

  if (rank == 0) then
    call amalgam_call_group(rpc_vote, AMALGAM_GROUP_ALL, 3, votes)
    call check(votes(1) == 3 * size * (size - 1) / 2 .and. votes(2) == size, &
        "the sum of all votes")

    call MPI_Comm_group(MPI_COMM_WORLD, world)
    call MPI_Group_incl(world, size / 2, [(2 * i + 1, i = 0, size / 2 - 1)], part)
    call amalgam_group_create(class, part, odd)
    call MPI_Group_free(part)
    call MPI_Group_free(world)
    call amalgam_call_group(rpc_vote, odd, 1, votes, failed=failed)
    call check(votes(2) == size / 2, "votes of the odd ranks")
    call check(allocated(failed), "nobody failed: an empty array")
    call check(ubound(failed, 1) == 0, "nobody failed")

    call amalgam_group_create(class, [size - 1, 0], some)
    call amalgam_icall_group(rpc_vote, some, 1, request)
    call amalgam_wait(request, votes)
    call check(votes(1) == size - 1 .and. votes(2) == 2, "two ranks")
    call amalgam_group_free(some)
    call amalgam_call_group(rpc_vote, some, 1, votes, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "a group that was freed")
    call amalgam_group_create(class, [size], some, ierror)
    call check(ierror == HG_INVALID_ARG, "no such rank")
    call amalgam_group_create(class, [integer ::], none)
    call amalgam_call_group(rpc_vote, none, 1, ierror=ierror)
    call check(ierror == HG_SUCCESS, "a group without ranks")
    call amalgam_group_free(none)

    call amalgam_call_group(rpc_missing, odd, 1, failed=failed, ierror=ierror)
    call check(ierror == HG_NOENTRY, "the RPC is not registered there")
    call check(all(failed == [(2 * i + 1, i = 0, size / 2 - 1)]), &
        "the ranks that failed")
    deallocate(failed)
    call amalgam_group_free(odd)
    call amalgam_group_create(class, [size - 1], some)
    call amalgam_call_group(rpc_short, some, 1, votes, ierror=ierror)
    call check(ierror == HG_MSGSIZE, "one output of another length")
    call amalgam_call_group(rpc_short, AMALGAM_GROUP_ALL, 1, votes, &
        ierror=ierror)
    call check(ierror == HG_MSGSIZE, "outputs of another length")
    call amalgam_call_group(rpc_late, some, 1, timeout_ms=0, ierror=ierror)
    call check(ierror == HG_TIMEOUT, "a time limit of 0")
    call amalgam_forward_oneway(rpc_let, size - 1)
    call amalgam_group_free(some)
    call amalgam_register_reduce_op(rpc_vote, MPI_SUM, MPI_INTEGER, 0, ierror)
    call check(ierror == HG_INVALID_ARG, "a reduction of nothing")
  end if
  call amalgam_quiesce(class)
  call check(ran == merge(2, 1, rank == 0) + mod(rank, 2) + &
      merge(1, 0, rank == size - 1), "each rank ran each call once")
  call amalgam_finalize(class)
  call MPI_Finalize()
end program
