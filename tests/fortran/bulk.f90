! SPDX-License-Identifier: BSD-3-Clause
! Bulk data of Fortran arrays: whole arrays, sections with strides of both signs,
! derived types' components and MPI datatypes are pulled and pushed element by
! element, by handlers that wait for their transfers.
module bulk_served
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use amalgam
  use checks
  implicit none
  type(amalgam_class) :: handle_class
  type, bind(c) :: cell
    integer(c_int) :: id
    real(c_double) :: value
  end type
contains
  ! Pulls all numbers, and pushes each plus one.
  subroutine increase(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(amalgam_bulk) :: remote
    integer(AMALGAM_SIZE_KIND) :: size
    real(8), allocatable, target :: numbers(:)

    call amalgam_get_bulk(handle, remote)
    call amalgam_bulk_get_size(remote, size)
    allocate(numbers(size / 8))
    call amalgam_bulk_pull(remote, numbers)
    numbers = numbers + 1
    call amalgam_bulk_push(remote, numbers)
    call amalgam_bulk_free(remote)
    call amalgam_respond(handle, sum(numbers))
  end subroutine

  ! Fills every second element of an array, by two transfers at once.
  subroutine halves(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(amalgam_bulk) :: remote, local
    type(amalgam_request) :: first, second
    integer :: ierror
    real(8), target :: room(2, 8)
    room = -1
    call amalgam_get_bulk(handle, remote)
    call amalgam_bulk_create(handle_class, room(1, 8:1:-1), &
        HG_BULK_WRITE_ONLY, local)
    call amalgam_bulk_itransfer(HG_BULK_PULL, remote, 0_AMALGAM_SIZE_KIND, &
        local, 32_AMALGAM_SIZE_KIND, 32_AMALGAM_SIZE_KIND, first)
    call amalgam_bulk_itransfer(HG_BULK_PULL, remote, 32_AMALGAM_SIZE_KIND, &
        local, 0_AMALGAM_SIZE_KIND, 32_AMALGAM_SIZE_KIND, second)
    call amalgam_wait(second)
    call amalgam_wait(first)
    call amalgam_bulk_itransfer(HG_BULK_PULL, remote, 1_AMALGAM_SIZE_KIND, &
        local, 0_AMALGAM_SIZE_KIND, 64_AMALGAM_SIZE_KIND, first, ierror)
    call check(ierror == HG_INVALID_ARG, "a range beyond the memory")
    call amalgam_bulk_itransfer(HG_BULK_PULL, remote, -1_AMALGAM_SIZE_KIND, &
        local, 0_AMALGAM_SIZE_KIND, 8_AMALGAM_SIZE_KIND, first, ierror)
    call check(ierror == HG_INVALID_ARG, "a negative offset")
    call amalgam_bulk_free(local)
    call amalgam_bulk_free(remote)
    call amalgam_respond(handle, room)
  end subroutine

  subroutine nothing(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(amalgam_bulk) :: remote
    integer :: ierror
    call amalgam_get_bulk(handle, remote, ierror)
    call check(ierror == HG_NOENTRY, "a call without a bulk handle")
    call amalgam_respond(handle)
  end subroutine
end module

program bulk
  use mpi_f08
  use bulk_served
  implicit none
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc_increase, rpc_halves, rpc_nothing
  integer :: rank, size, other, level

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call amalgam_init(MPI_COMM_WORLD, class)
  handle_class = class
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  other = mod(rank + 1, size)
  call amalgam_register(class, "increase", rpc_increase, increase, bulk=.true.)
  call amalgam_register(class, "halves", rpc_halves, halves, bulk=.true.)
  call amalgam_register(class, "nothing", rpc_nothing, nothing)
  call amalgam_barrier(class)
  call arrays(other)
  call arrays(rank)
  call types()
  call transfers()
  call amalgam_call(rpc_nothing, other)
  call amalgam_finalize(class)
  call MPI_Finalize()

contains

  ! Has `target` add one to the elements that `exposed` names.
  subroutine increase_at(target, exposed, expected, what)
    integer, intent(in) :: target
    type(amalgam_bulk), intent(inout) :: exposed
    real(8), intent(in) :: expected
    character(len=*), intent(in) :: what
    real(8) :: sum_there
    call amalgam_call(rpc_increase, target, out=sum_there, bulk=exposed)
    call amalgam_bulk_free(exposed)
    call check(sum_there == expected, what)
  end subroutine

  subroutine arrays(to)
    integer, intent(in) :: to
    real(8), allocatable, asynchronous :: grid(:, :), long(:)
    type(cell), target :: cells(4)
    type(amalgam_bulk) :: exposed
    integer :: i

    allocate(grid(10, 20), long(500000))
    grid = 0
    call amalgam_bulk_create(class, grid, HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 200d0, "a whole array")
    call check(all(grid == 1), "all elements were changed")
    call amalgam_bulk_create(class, grid(1, :), HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 40d0, "a row")
    call amalgam_bulk_create(class, grid(2:9:2, 19:3:-4), HG_BULK_READWRITE, &
        exposed)
    call increase_at(to, exposed, 40d0, "a section of negative stride")
    call check(all(grid(1, :) == 2) .and. all(grid(2:8:2, 3:19:4) == 2) .and. &
        sum(grid) == 240, "only the section was changed")
    cells%value = 3
    cells%id = [(i, i = 1, 4)]
    call amalgam_bulk_create(class, cells%value, HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 16d0, "a component")
    call check(all(cells%value == 4) .and. all(cells%id == [(i, i = 1, 4)]), &
        "other components stay")
    long = 1
    call amalgam_bulk_create(class, long, HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 1d6, "a long array")
    call amalgam_bulk_create(class, long(1:0), HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 0d0, "an array without elements")
    call amalgam_bulk_create(class, long(1::2), HG_BULK_READWRITE, exposed)
    call increase_at(to, exposed, 750000d0, "250,000 segments")
  end subroutine

  subroutine types()
    real(8), target :: grid(6, 5)
    type(MPI_Datatype) :: row
    type(amalgam_bulk) :: exposed
    integer :: ierror

    grid = 0
    call MPI_Type_vector(5, 1, 6, MPI_DOUBLE_PRECISION, row)
    call MPI_Type_commit(row)
    call amalgam_bulk_create_type(class, grid(2, 1), 1, row, &
        HG_BULK_READWRITE, exposed)
    call MPI_Type_free(row)
    call increase_at(other, exposed, 5d0, "a row by an MPI datatype")
    call check(sum(grid(2, :)) == 5 .and. sum(grid) == 5, "only that row")
    call amalgam_bulk_create_type(class, grid, 1, MPI_DATATYPE_NULL, &
        HG_BULK_READWRITE, exposed, ierror)
    call check(ierror == HG_INVALID_ARG, "no datatype")
  end subroutine

  subroutine transfers()
    real(8), asynchronous :: numbers(8), there(2, 8)
    type(amalgam_bulk) :: exposed
    integer :: i, ierror

    numbers = [(i, i = 1, 8)]
    call amalgam_bulk_create(class, numbers, 0, exposed, ierror)
    call check(ierror == HG_INVALID_ARG, "no access is allowed")
    call amalgam_bulk_create(class, numbers, HG_BULK_READ_ONLY, exposed)
    call amalgam_call(rpc_halves, other, out=there, bulk=exposed)
    call check(all(there(2, :) == -1), "the gaps stay")
    call check(all(there(1, :) == [4, 3, 2, 1, 8, 7, 6, 5]), "two halves")
    call amalgam_bulk_free(exposed)
    call amalgam_bulk_free(exposed, ierror)
    call check(ierror == HG_INVALID_ARG, "a handle is null when it is freed")
  end subroutine
end program
