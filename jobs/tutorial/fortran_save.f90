! SPDX-License-Identifier: BSD-3-Clause
! Saves a part of an array at another rank, which pulls it as bulk data, in
! Fortran.
!
! The client exposes every second row of its array. Such a section is not
! adjacent in memory; it becomes one bulk handle of many segments, and is not
! copied. The call carries the handle. The server asks for the size, pulls the
! numbers into memory of its own, and writes them to a file. It reads the file
! again to answer with the sum of the numbers.
!
! Rank 0 serves, all other ranks are clients.
module fortran_save_served
  use amalgam
  implicit none
  integer :: saved = 0
contains
  ! Runs at rank 0. While the pull waits, other calls are served.
  subroutine save_numbers(handle)
    type(amalgam_handle), intent(inout) :: handle
    type(amalgam_bulk) :: remote
    integer(AMALGAM_SIZE_KIND) :: size
    real(8), allocatable :: numbers(:)
    integer :: file

    call amalgam_get_bulk(handle, remote)
    call amalgam_bulk_get_size(remote, size)
    allocate(numbers(size / (storage_size(numbers) / 8)))
    call amalgam_bulk_pull(remote, numbers)
    call amalgam_bulk_free(remote)

    open(newunit=file, status="scratch", access="stream", form="unformatted")
    write(file) numbers
    numbers = 0
    rewind(file)
    read(file) numbers
    close(file)
    saved = saved + 1
    call amalgam_respond(handle, sum(numbers))
  end subroutine
end module

program fortran_save
  use mpi_f08
  use amalgam
  use fortran_save_served
  implicit none
  integer, parameter :: rows = 200, columns = 3000
  type(amalgam_class) :: class
  type(amalgam_rpc) :: rpc
  integer :: rank

  if (command_argument_count() > 0) error stop "fortran_save takes no words"
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call amalgam_init(MPI_COMM_WORLD, class)
  ! Each call of this RPC carries a bulk handle.
  call amalgam_register(class, "save", rpc, save_numbers, bulk=.true.)
  if (rank > 0) call save_rows()
  call amalgam_finalize(class)
  if (rank == 0) print "(a, i0, a)", "rank 0: ", saved, " files"
  call MPI_Finalize()

contains

  subroutine save_rows()
    ! Asynchronous: the compiler must expect that others read the array.
    real(8), allocatable, asynchronous :: grid(:, :)
    type(amalgam_bulk) :: bulk
    real(8) :: answer
    integer :: i, j

    allocate(grid(rows, columns))
    grid = reshape([((real(rank * i, 8), i = 1, rows), j = 1, columns)], &
        [rows, columns])
    call amalgam_bulk_create(class, grid(1::2, :), HG_BULK_READ_ONLY, bulk)
    call amalgam_call(rpc, 0, out=answer, bulk=bulk)
    ! The answer means that the server needs the memory no more.
    call amalgam_bulk_free(bulk)
    print "(a, i0, a, i0, a)", "rank ", rank, ": saved ", &
        size(grid(1::2, :)), " numbers"
    if (answer /= sum(grid(1::2, :))) error stop "other numbers were saved"
  end subroutine
end program
