/* SPDX-License-Identifier: BSD-3-Clause */
/* Is that XML? */
#include "xml.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DEPTH_MAX = 32, ATTRIBUTES_MAX = 32 };

/* A part of the text. */
struct word {
    const char *start;
    size_t len;
};

struct reader {
    const char *at;
    const char *wrong; /* NULL: nothing so far */
    struct word open[DEPTH_MAX];
    unsigned depth;
    bool has_root;
};

static void fail(struct reader *reader, const char *wrong)
{
    if (reader->wrong == NULL)
        reader->wrong = wrong;
}

static bool is_same(struct word one, struct word other)
{
    return one.len == other.len && memcmp(one.start, other.start, one.len) == 0;
}

static struct word name_read(struct reader *reader)
{
    struct word name = {reader->at, 0};

    while (isalnum((unsigned char)*reader->at) || *reader->at == '-' ||
           *reader->at == ':' || *reader->at == '_')
        reader->at++;
    name.len = (size_t)(reader->at - name.start);
    if (name.len == 0 || isdigit((unsigned char)*name.start))
        fail(reader, "a name is missing");
    return name;
}

static void spaces_skip(struct reader *reader)
{
    while (*reader->at != '\0' && strchr(" \t\r\n", *reader->at) != NULL)
        reader->at++;
}

static void reference_read(struct reader *reader)
{
    static const char *const entities[] = {
        "&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};

    for (unsigned i = 0; i < sizeof(entities) / sizeof(*entities); i++)
        if (strncmp(reader->at, entities[i], strlen(entities[i])) == 0) {
            reader->at += strlen(entities[i]);
            return;
        }
    fail(reader, "'&' begins no entity");
}

/* Text up to one of `ends`, which is not read. */
static void text_read(struct reader *reader, const char *ends)
{
    while (reader->wrong == NULL && *reader->at != '\0' &&
           strchr(ends, *reader->at) == NULL)
        if (*reader->at == '&')
            reference_read(reader);
        else if (*reader->at == '<')
            fail(reader, "'<' in a text");
        else if ((unsigned char)*reader->at < ' ' && *reader->at != '\n' &&
                 *reader->at != '\t')
            fail(reader, "a control character");
        else
            reader->at++;
}

static void attributes_read(struct reader *reader)
{
    struct word names[ATTRIBUTES_MAX];
    unsigned count = 0;

    for (spaces_skip(reader);
         reader->wrong == NULL && isalpha((unsigned char)*reader->at);
         spaces_skip(reader)) {
        names[count] = name_read(reader);
        for (unsigned i = 0; i < count; i++)
            if (is_same(names[i], names[count]))
                fail(reader, "an attribute is there twice");
        if (strncmp(reader->at, "=\"", 2) != 0)
            fail(reader, "an attribute has no quoted value");
        else
            reader->at += 2;
        text_read(reader, "\"");
        if (*reader->at != '"' || ++count == ATTRIBUTES_MAX)
            fail(reader, "an attribute does not end, or too many");
        else
            reader->at++;
    }
}

/* After "</". */
static void end_read(struct reader *reader)
{
    struct word name = name_read(reader);

    if (reader->depth == 0 || !is_same(reader->open[--reader->depth], name))
        fail(reader, "an element is closed that is not open");
    if (*reader->at != '>')
        fail(reader, "an end tag does not end");
    else
        reader->at++;
}

/* After "<". */
static void element_read(struct reader *reader)
{
    struct word name = name_read(reader);

    if (reader->depth == 0 && reader->has_root)
        fail(reader, "a second root");
    reader->has_root = true;
    attributes_read(reader);
    if (strncmp(reader->at, "/>", 2) == 0) {
        reader->at += 2;
    } else if (*reader->at == '>' && reader->depth < DEPTH_MAX) {
        reader->open[reader->depth++] = name;
        reader->at++;
    } else {
        fail(reader, "a tag does not end, or stands too deep");
    }
}

const char *xml_check(const char *text)
{
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    struct reader reader = {.at = text};

    if (strncmp(text, head, sizeof(head) - 1) == 0)
        reader.at += sizeof(head) - 1;
    while (reader.wrong == NULL && *reader.at != '\0') {
        if (reader.depth == 0)
            spaces_skip(&reader);
        else
            text_read(&reader, "<");
        if (*reader.at == '\0' || reader.wrong != NULL)
            break;
        if (*reader.at++ != '<')
            fail(&reader, "text outside of the root");
        else if (*reader.at == '/' && reader.at++)
            end_read(&reader);
        else
            element_read(&reader);
    }
    if (reader.depth > 0 || !reader.has_root)
        fail(&reader, "the root is not there, or not closed");
    return reader.wrong;
}
