# SPDX-License-Identifier: BSD-3-Clause
# Turns one figure of figures.jq into commands for gnuplot, which is called
# with the terminal, svg or png, and the file to write.
#
# Data of a document reach gnuplot as numbers or in single quotes, in which
# gnuplot neither expands nor executes anything; quotes in the text become
# apostrophes, since gnuplot does not accept all doubled quotes.

def quoted: "'" + (tostring | gsub("[\\x00-\\x1f]"; " ") | gsub("'"; "’")) + "'";

def number: if . == null then "NaN" else tostring end;

# 4096 as 4 KiB.
def size_word:
    if . >= 1048576 then "\(. / 1048576) MiB"
    elif . >= 1024 then "\(. / 1024) KiB" else "\(.) B" end;

def xs: [.series[].points[].x];
def ys: [.series[].points[] | .y, (.lo, .hi | numbers | select(. > 0))];

# A logarithm has no zero: size 0 is drawn left of the smallest size.
def zero_place: [xs[] | select(. > 0)] | if length == 0 then 1 else min / 2 end;

# Powers of $step between the smallest and the largest x, as "'word' place".
def powers($step; word):
    # A run that was ended early may have a point at zero alone.
    (xs | map(select(. > 0))) as $x | ($x | min) as $low | ($x | max // 0) as $high |
    [1 | while(. <= $high * 1.01; . * $step) | select(. >= $low * 0.99) |
        "\(word | quoted) \(.)"];

# Tics at powers of a step that is so large that all tics have room.
def tics($room; word):
    . as $panel | [2, 4, 8, 16, 64, 256] |
    map(. as $step | $panel | powers($step; word)) |
    map(select(length <= $room))[0] // [];

def x_axis($room):
    zero_place as $zero |
    if .xkind == "names" then
        "unset logscale x",
        "set xrange [0.5:\((.names | length) + 0.5)]",
        "set xtics (" + ([.names[] | "\(.name | quoted) \(.at)"] | join(", ")) + ")"
    else
        (if any(xs[]; . <= 0) then ["'0' \($zero)"] else [] end) as $null |
        [xs[] | if . <= 0 then $zero else . end] as $x | .xkind as $kind |
        "set logscale x 2",
        "set xrange [\(($x | min) / 1.3):\(($x | max) * 1.3)]",
        "set xtics (" + ($null + tics($room; if $kind == "size" then size_word
            else tostring end) | join(", ")) + ")"
    end;

# A logarithmic axis if the values differ much, else a linear one from zero.
def y_axis:
    (ys | max) as $high | (ys | min) as $low |
    "set format y '%g'",
    if $high / $low > 12 then
        "set logscale y", "set yrange [\($low / 1.5):\($high * 1.5)]",
        "set ytics (" + ([range(-9; 13) | pow(10; .) |
            if $high / $low < 500 then (., . * 2, . * 5) else . end |
            select(. >= $low / 1.5 and . <= $high * 1.5) | "'\(.)' \(.)"] |
            join(", ")) + ")"
    else
        "unset logscale y", "set yrange [0:\($high * 1.15)]", "set ytics autofreq"
    end;

# Lines of ours are solid with filled points, hollow where a row was noisy;
# those of controls are broken, each in its own way, with crosses and stars.
def fills: [7, 5, 9, 11, 13, 15];
def hollows: [6, 4, 8, 10, 12, 14];
def crosses: [2, 1, 3];
def shades: ["#000000", "#0060ad", "#c04000", "#007040", "#7030a0", "#806000"];
def grey_shades: ["#606060", "#5090c0", "#c08050", "#50a070", "#a070c0", "#a09040"];

# What draws series $i of the panel, which is the $n-th of its kind; its data
# are in the block $block.
def drawn($i; $n; $block; $joined):
    # From the seventh of a kind on, another colour for each mark.
    (($n + ($n / 6 | floor)) % 6) as $colour |
    (shades[$colour]) as $shade | (grey_shades[$colour]) as $grey |
    (if $joined then "1" elif .kind == "ours" then "($1 - 0.06)"
        else "($1 + 0.06)" end) as $x |
    if .kind == "ours" then
        (if any(.points[]; .hi != null) then
            if $joined then "\($block) using 1:3:4 with filledcurves " +
                "fs transparent solid 0.13 noborder lc rgb '\($shade)' notitle"
            else "\($block) using \($x):2:3:4 with yerrorbars pt 0 lw 1.5 " +
                "lc rgb '\($shade)' notitle" end
        else empty end),
        "\($block) using \($x):2 with \(if $joined then "linespoints" else "points" end) " +
            "dt 1 lw 2 pt \(fills[$n % 6]) ps 0.9 lc rgb '\($shade)' title \(.name | quoted)",
        (if any(.points[]; .noisy) then
            ("\($block) using \($x):($5 > 0 ? $2 : NaN) with points " as $noisy |
                $noisy + "pt \(fills[$n % 6]) ps 0.9 lc rgb 'white' notitle",
                $noisy + "pt \(hollows[$n % 6]) ps 0.9 lw 1.5 lc rgb '\($shade)' notitle")
        else empty end)
    else
        (if ($joined | not) and any(.points[]; .hi != null) then
            "\($block) using \($x):2:3:4 with yerrorbars pt 0 dt 3 " +
                "lc rgb '\($grey)' notitle"
        else empty end),
        "\($block) using \($x):2 with " +
            (if $joined then "linespoints" else "points" end) +
            " dt \($n % 4 + 2) lw 1.5 pt \(crosses[$n % 3]) ps 0.8 " +
            "lc rgb '\($grey)' title \(.name | quoted)"
    end;

def block($p; $i): "$data_\($p)_\($i)";

def data($p):
    zero_place as $zero | .xkind as $kind | .series | to_entries[] |
    block($p; .key) + " << END_OF_DATA",
    (.value.points[] | [if $kind != "names" and .x <= 0 then $zero else .x end,
        .y, .lo, .hi, if .noisy then 1 else 0 end] | map(number) | join(" ")),
    "END_OF_DATA";

def numbered:
    reduce .series[] as $s ({list: [], ours: 0, control: 0};
        .list += [$s + {n: .[$s.kind]}] | .[$s.kind] += 1) | .list;

# $room: how many tics fit. $most: the most series of any panel; the keys of all
# panels get as many lines, so that the panels have the same height.
def panel($p; $room; $most; $noisy):
    "set title \(.title | quoted) noenhanced",
    # The second line keeps the key away.
    "set xlabel \(.xlabel | quoted).\"\\n \" noenhanced",
    "set ylabel \(.ylabel | quoted) noenhanced",
    x_axis($room), y_axis,
    (.xkind != "names") as $joined |
    "plot " + ([numbered | to_entries[] | .key as $i | .value |
            drawn($i; .n; block($p; $i); $joined)] +
        [if $noisy then
            "NaN with points pt 6 lc rgb 'black' title 'hollow: noisy'"
        else empty end] +
        [range(.series | length; $most) | "NaN with lines lc rgb 'white' title ' '"] |
        join(", \\\n    "));

# $before: what goes before the title.
def gnuplot($before):
    .note as $note |
    (.panels | length) as $count |
    (.panels | map(.series | length) | max) as $most |
    any(.panels[].series[].points[]; .noisy) as $noisy |
    ([760, 1160, 1400][$count - 1] // 1400) as $width |
    (445 + 16 * ($note | length) + 20 * (($most + if $noisy then 1 else 0 end) / if $count > 1 then 1 else 2 end | ceil)) as $height |
    "set encoding utf8",
    "if (ARG1 eq 'svg') {",
    "    set terminal svg size \($width),\($height) font 'DejaVu Sans,13' noenhanced background 'white'",
    "} else {",
    "    set terminal pngcairo size \(2 * $width),\(2 * $height) font 'DejaVu Sans,13' " +
        "fontscale 2 linewidth 2 pointscale 2 noenhanced background 'white'",
    "}",
    "set output ARG2",
    "set grid lc rgb '#d0d0d0' lt 1 lw 0.5",
    "set border 3",
    "set tics nomirror",
    "set key below left reverse Left maxcols \(if $count > 1 then 1 else 2 end) noenhanced",
    (.panels | to_entries[] | .key as $p | .value | data($p)),
    "set multiplot layout 1,\($count) title " +
        ([$before, .title] | map(select(. != "")) | join(": ") | quoted) +
        ".\"\($note | map("\\n") | join(""))\" noenhanced font ',15'",
    ($note | to_entries[] | "set label \(.key + 1) \(.value | quoted) at screen 0.5, " +
        "screen \(1 - (38 + 17 * .key) / $height) center font ',11' noenhanced"),
    (.panels | to_entries[] | .key as $p | .value | panel($p; if $count > 1 then 7 else 9 end;
        $most; $noisy), "unset label"),
    "unset multiplot";
