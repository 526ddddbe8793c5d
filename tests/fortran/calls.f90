! SPDX-License-Identifier: BSD-3-Clause
! Calls between ranks carry scalars, arrays, sections, texts and derived types
! unchanged; each misuse is told by its code; and what is freed is null.
module calls_served
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use amalgam
  use checks
  implicit none
  type, bind(c) :: cell
    integer(c_int) :: id
    real(c_double) :: value
  end type
  type(amalgam_handle) :: kept
  integer :: heard = 0
contains
  ! The sum of as many integers as come.
  subroutine sum_all(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: bytes
    integer, allocatable :: numbers(:)
    call amalgam_get_input(handle, count=bytes)
    allocate(numbers(bytes / (storage_size(0) / 8)))
    call amalgam_get_input(handle, numbers)
    call amalgam_respond(handle, sum(numbers))
  end subroutine

  subroutine greet(handle)
    type(amalgam_handle), intent(inout) :: handle
    character(len=32) :: name
    integer :: length, rank
    call amalgam_get_input(handle, name, length)
    call amalgam_get_source(handle, rank)
    call amalgam_respond(handle, "hello " // name(1:length) // " of rank " // &
        achar(iachar("0") + rank))
  end subroutine

  subroutine double_cells(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(cell) :: cells(3)
    integer :: ierror
    call amalgam_get_input(handle, cells(1:1), ierror=ierror)
    call check(ierror == HG_OVERFLOW, "a longer input is refused")
    call amalgam_get_input(handle, cells)
    cells%value = 2 * cells%value
    call amalgam_respond(handle, cells)
  end subroutine

  ! Answered later, by the next call of "release".
  subroutine keep(handle)
    type(amalgam_handle), intent(inout) :: handle
    kept = handle
  end subroutine

  subroutine release(handle)
    type(amalgam_handle), intent(inout) :: handle
    call amalgam_respond(kept, 7)
    call amalgam_respond(handle)
  end subroutine

  subroutine hear(handle)
    type(amalgam_handle), intent(inout) :: handle
    integer :: number, big(100), bytes
    call amalgam_get_input(handle, count=bytes)
    if (bytes == 4) then
      call amalgam_get_input(handle, number)
      heard = heard + number
    else
      call amalgam_get_input(handle, big)
      heard = heard + sum(big)
    end if
  end subroutine
end module

program calls
  use mpi_f08
  use calls_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc_sum, rpc_greet, rpc_double, rpc_keep, rpc_release, &
      rpc_hear, rpc_unknown
  integer :: rank, size, other, level

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call amalgam_init(MPI_COMM_WORLD, class)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  other = mod(rank + 1, size)
  call amalgam_register(class, "sum", rpc_sum, sum_all)
  call amalgam_register(class, "greet", rpc_greet, greet)
  call amalgam_register(class, "double", rpc_double, double_cells)
  call amalgam_register(class, "keep", rpc_keep, keep)
  call amalgam_register(class, "release", rpc_release, release)
  call amalgam_register(class, "hear", rpc_hear, hear, oneway=.true.)
  call amalgam_register(class, "nobody", rpc_unknown)
  call amalgam_barrier(class)
  call values()
  call requests()
  call oneway()
  call errors()
  call misuses()
  call amalgam_finalize(class)
  call amalgam_finalize(class, level)
  call check(level == HG_INVALID_ARG, "the class is null when it is closed")
  call amalgam_call(rpc_sum, other, 1, ierror=level)
  call check(level == HG_INVALID_ARG, "the class of an RPC is closed")
  call MPI_Finalize()

contains

  subroutine values()
    integer :: answer, matrix(4, 6), i, length
    character(len=40) :: text
    type(cell) :: cells(3)
    integer, allocatable :: long(:)

    call amalgam_call(rpc_sum, other, [40, 2], answer)
    call check(answer == 42, "an array as input")
    call amalgam_call(rpc_sum, other, 5, answer)
    call check(answer == 5, "a scalar as input")
    call amalgam_call(rpc_sum, other, out=answer)
    call check(answer == 0, "no input")
    matrix = reshape([(i, i = 1, 24)], [4, 6])
    call amalgam_call(rpc_sum, other, matrix(1:4:3, 6:1:-2), answer)
    call check(answer == sum(matrix(1:4:3, 6:1:-2)), "a section as input")
    call amalgam_call(rpc_sum, rank, matrix, answer)
    call check(answer == sum(matrix), "a call to oneself")
    allocate(long(1000000))
    long = [(mod(i, 7), i = 1, 1000000)]
    call amalgam_call(rpc_sum, other, long, answer)
    call check(answer == sum(long), "a long input")

    call amalgam_call(rpc_greet, other, "x y", text)
    call check(text == "hello x y of rank " // achar(iachar("0") + rank), &
        "a text, filled up with blanks")
    call amalgam_call(rpc_greet, other, "", text, count=length)
    call check(length == 16, "the length of a text")

    cells = [cell(1, 0.5d0), cell(2, 1.5d0), cell(3, 2.5d0)]
    call amalgam_call(rpc_double, other, cells, cells)
    call check(all(cells%value == [1d0, 3d0, 5d0]), "derived types")
    matrix = 0
    call amalgam_call(rpc_sum, other, [3], matrix(3, 1::9))
    call check(matrix(3, 1) == 3 .and. sum(matrix) == 3, "a section as output")
  end subroutine

  subroutine requests()
    type(amalgam_request) :: request(100), waiting
    integer :: answer, i, number, ierror

    do i = 1, 100
      number = i
      call amalgam_icall(rpc_sum, other, [number, 1], request(i))
      number = -1
    end do
    do i = 100, 1, -1
      call amalgam_wait(request(i), answer)
      call check(answer == i + 1, "an answer of a request")
    end do
    call amalgam_wait(request(1), ierror=answer)
    call check(answer == HG_INVALID_ARG, "a request is null after its wait")

    call amalgam_icall(rpc_keep, other, 1, waiting)
    call amalgam_call(rpc_sum, other, [1], answer)
    call amalgam_wait(waiting, answer, timeout_ms=0, ierror=ierror)
    call check(ierror == HG_TIMEOUT, "no answer yet")
    call amalgam_call(rpc_release, other)
    do while (ierror == HG_TIMEOUT)
      call amalgam_wait(waiting, answer, timeout_ms=0, ierror=ierror)
    end do
    call check(ierror == HG_SUCCESS .and. answer == 7, &
        "an answer after the handler")
  end subroutine

  subroutine oneway()
    integer :: i, ierror

    call amalgam_quiesce(class)
    do i = 1, 1000
      call amalgam_forward_oneway(rpc_hear, other, i)
    end do
    call amalgam_forward_oneway(rpc_hear, other, [(1, i = 1, 100)])
    call amalgam_quiesce(class)
    call check(heard == 500600, "all one-way calls have come")
    call amalgam_call(rpc_hear, other, 1, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "no answer to wait for")
    call amalgam_forward_oneway(rpc_sum, other, 1, ierror)
    call check(ierror == HG_INVALID_ARG, "a call with an answer")
  end subroutine

  subroutine errors()
    integer :: ierror, two(2), count
    character(len=16) :: name
    type(amalgam_request) :: request
    real(8) :: real

    call amalgam_call(rpc_sum, size, 1, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "no such rank")
    call amalgam_call(rpc_unknown, other, 1, ierror=ierror)
    call check(ierror == HG_INVALID_ARG .or. ierror == HG_NOENTRY, &
        "no handler there")
    call amalgam_call(rpc_sum, other, 1, real, ierror=ierror)
    call check(ierror == HG_MSGSIZE, "fewer bytes than the argument has")
    call amalgam_call(rpc_sum, other, 1, two, count=count)
    call check(count == 1 .and. two(1) == 1, "fewer elements, counted")
    call amalgam_icall(rpc_greet, other, "a", request)
    call amalgam_wait(request, name(1:3), ierror=ierror)
    call check(ierror == HG_OVERFLOW, "more than the argument has room for")
    call amalgam_wait(request, name(1:15), ierror=ierror)
    call check(ierror == HG_OVERFLOW, "still more")
    call amalgam_wait(request, ierror=ierror)
    call check(ierror == HG_SUCCESS, "the answer is dropped")
    call amalgam_icall(rpc_keep, other, 1, request)
    call amalgam_wait(request, timeout_ms=20, ierror=ierror)
    call check(ierror == HG_TIMEOUT, "a wait that is too short")
    call amalgam_cancel(request)
    call amalgam_wait(request, ierror=ierror)
    call check(ierror == HG_CANCELED, "a cancelled call")
    call amalgam_call(rpc_release, other)
    call amalgam_barrier(class)
    call amalgam_call(rpc_keep, rank, 1, timeout_ms=20, ierror=ierror)
    call check(ierror == HG_TIMEOUT, "a call with a time limit")
    call amalgam_respond(kept)
    call amalgam_error_string(HG_TIMEOUT, name)
    call check(name == "HG_TIMEOUT", "the name of a code")
  end subroutine

  ! Variables that have no bytes, or whose bytes nobody knows.
  subroutine misuses()
    integer, allocatable :: unallocated(:), answer
    integer, pointer :: nowhere
    class(*), allocatable :: anything
    character(len=0) :: nothing
    type(amalgam_request) :: request
    type(amalgam_rpc) :: refused
    type(amalgam_bulk) :: bulk
    integer, target :: number
    integer :: ierror

    nullify(nowhere)
    number = -1
    call amalgam_call(rpc_sum, other, unallocated, number)
    call check(number == 0, "an unallocated array counts as absent")
    call amalgam_call(rpc_sum, other, 1, answer, ierror=ierror)
    call check(ierror == HG_SUCCESS .and. .not. allocated(answer), &
        "the answer for an unallocated scalar is dropped")
    call amalgam_icall(rpc_sum, other, unallocated, request, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "an unallocated array that is needed")
    call amalgam_icall(rpc_sum, other, nowhere, request, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "a pointer to nothing")
    call amalgam_bulk_create(class, unallocated, HG_BULK_READ_ONLY, bulk, ierror)
    call check(ierror == HG_INVALID_ARG, "an unallocated array as bulk data")
    allocate(anything, source=5)
    call amalgam_call(rpc_sum, other, anything, number, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "a polymorphic variable")
    call amalgam_call(rpc_sum, other, 1, nothing, ierror=ierror)
    call check(ierror == HG_OVERFLOW, "a text without room")
    call amalgam_register(class, "both", refused, hear, oneway=.true., &
        bulk=.true., ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "a one-way call with bulk data")
    call amalgam_bulk_create(class, number, 257, bulk, ierror)
    call check(ierror == HG_INVALID_ARG, "flags that do not exist")
    call amalgam_bulk_create(class, number, HG_BULK_READ_ONLY, bulk)
    call amalgam_call(rpc_sum, other, 1, number, bulk=bulk, ierror=ierror)
    call check(ierror == HG_INVALID_ARG, "bulk data of an RPC without them")
    call amalgam_bulk_free(bulk)
    call amalgam_icall(rpc_sum, other, 1, request)
    call amalgam_wait(request, number, timeout_ms=-1, ierror=ierror)
    if (ierror == HG_TIMEOUT) call amalgam_wait(request, number)
    call check(number == 1, "a negative time limit is none at all")
  end subroutine
end program
