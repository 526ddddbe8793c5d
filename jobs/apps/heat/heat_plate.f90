! SPDX-License-Identifier: BSD-3-Clause
! The plate of the job heat: one step of its temperatures, and a picture.
module heat_plate
  implicit none
  integer, parameter :: rows = 96
  real(8), parameter :: coldest = 0, hottest = 100
contains
  ! One explicit step of the heat equation for the columns of a block, whose
  ! first and last column are the halo. The heater is a part of the upper edge;
  ! all other edges are cold.
  subroutine plate_step(block, first_column, columns, heater)
    real(8), intent(inout) :: block(:, 0:)
    integer, intent(in) :: first_column ! in the plate, of the block's column 1
    integer, intent(in) :: columns      ! of the plate
    real(8), intent(in) :: heater
    real(8) :: left(rows), old(rows), above, below
    integer :: i, j

    left = block(:, 0)
    do j = 1, ubound(block, 2) - 1
      old = block(:, j)
      do i = 1, rows
        above = merge(edge(first_column + j - 1, columns, heater), &
            old(max(i - 1, 1)), i == 1)
        below = merge(coldest, old(min(i + 1, rows)), i == rows)
        block(i, j) = old(i) + 0.2d0 * &
            (above + below + left(i) + block(i, j + 1) - 4 * old(i))
      end do
      left = old
    end do
  end subroutine

  ! The upper edge at a column of the plate: its middle half is the heater.
  pure real(8) function edge(column, columns, heater)
    integer, intent(in) :: column, columns
    real(8), intent(in) :: heater

    edge = merge(heater, coldest, &
        4 * column > columns .and. 4 * column <= 3 * columns)
  end function

  ! Writes the temperatures as a picture (SVG), from the coldest to the highest
  ! of them: one path for each colour.
  subroutine plate_draw(plate, file, title)
    real(8), intent(in) :: plate(:, :)
    character(len=*), intent(in) :: file, title
    integer, parameter :: size = 6, colours = 16
    integer :: unit, level, i, j, from, shade
    real(8) :: highest

    highest = max(maxval(plate), coldest + 1)
    open(newunit=unit, file=file, action="write", status="replace")
    write(unit, "(a, i0, a, i0, a)") '<svg xmlns="http://www.w3.org/2000/svg" &
        &viewBox="0 0 ', size * ubound(plate, 2), ' ', &
        size * ubound(plate, 1) + 24, &
        '" font-family="sans-serif" shape-rendering="crispEdges">'
    write(unit, "(a, i0, 3a)") '<text x="4" y="', size * ubound(plate, 1) + 17, &
        '" font-size="14">', title, '</text>'
    do level = 0, colours - 1
      shade = nint(255.0 * level / (colours - 1))
      write(unit, "(a, i0, a, i0, a, i0, a)") '<path fill="rgb(', &
          min(255, 20 + 2 * shade), ',', shade * shade / 300, ',', &
          max(40, 140 - shade), ')" d="'
      do i = 1, ubound(plate, 1)
        from = 0
        do j = 1, ubound(plate, 2) + 1
          if (is_level(i, j)) then
            if (from == 0) from = j
          else if (from > 0) then
            write(unit, "(a, i0, 1x, i0, a, i0, a, i0, a, i0, a)") 'M', &
                size * (from - 1), size * (i - 1), 'h', size * (j - from), &
                'v', size, 'h-', size * (j - from), 'z'
            from = 0
          end if
        end do
      end do
      write(unit, "(a)") '"/>'
    end do
    write(unit, "(a)") '</svg>'
    close(unit)

  contains

    ! Has the cell the colour `level`? No cell is right of the plate.
    logical function is_level(i, j)
      integer, intent(in) :: i, j

      is_level = .false.
      if (j <= ubound(plate, 2)) is_level = level == min(colours - 1, &
          int(colours * (plate(i, j) - coldest) / (highest - coldest)))
    end function
  end subroutine
end module
