# SPDX-License-Identifier: BSD-3-Clause
# Functions that read C; used by check_style and measure, before their own file.
# Both set in_comment to 0 at the beginning of each file.

# The line without comments and the inside of strings; keeps an open
# comment in mind, and leaves the text of comments in `comment`; sets `opened`
# where one begins.
function code_of(text,    out, start, end) {
    gsub(/\\./, "", text)
    gsub(/"[^"]*"/, "\"\"", text)
    out = ""
    comment = ""
    while (text != "") {
        if (in_comment) {
            end = index(text, "*/")
            if (end == 0) {
                comment = comment text
                return out
            }
            comment = comment substr(text, 1, end - 1)
            text = substr(text, end + 2)
            in_comment = 0
        }
        start = index(text, "/*")
        if (start == 0)
            return out text
        out = out substr(text, 1, start - 1)
        text = substr(text, start + 2)
        in_comment = 1
        opened = 1
    }
    return out
}

# The name of the function whose head is `head`.
function name_of(head,    name) {
    gsub(/__attribute__ *\(\([^)]*(\([^)]*\))*[^)]*\)\)/, "", head)
    sub(/\(.*/, "", head)
    gsub(/[ \t*]+$/, "", head)
    name = head
    sub(/.*[ \t*]/, "", name)
    return name
}
