/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON objects: read into structs, and written, by a table of the fields. */
#include "margo/json.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

_Static_assert(sizeof(bool) == sizeof(uint8_t), "both are one byte");

enum {
    WORDS_CAP = 256, /* bytes for the list of known words */
    DEPTH_MAX = 32   /* nesting of the text */
};

void amg_json_path_key(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, const char *key)
{
    (void)snprintf(ret_path, AMG_JSON_PATH_CAP, "%s%s%s", path,
        path[0] == '\0' ? "" : ".", key);
}

void amg_json_path_index(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, size_t index)
{
    (void)snprintf(ret_path, AMG_JSON_PATH_CAP, "%s[%zu]", path, index);
}

struct json_object *amg_json_get(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    if (object == NULL || !json_object_object_get_ex(object, key, &value))
        return NULL;
    return value;
}

/* The name of a type for messages, as "a string". */
static const char *type_name(enum json_type type)
{
    switch (type) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "true or false";
    case json_type_double:
        return "a number with a fraction or exponent";
    case json_type_int:
        return "an integer";
    case json_type_object:
        return "an object";
    case json_type_array:
        return "an array";
    default:
        return "a string";
    }
}

bool amg_json_is(const struct amg_margo_log *log, const char *path,
    struct json_object *value, enum json_type type)
{
    if (json_object_is_type(value, type))
        return true;
    amg_margo_log_write(log, MARGO_LOG_ERROR,
        "configuration: %s has to be %s, and is %s: %.80s", path,
        type_name(type), type_name(json_object_get_type(value)),
        json_object_to_json_string(value));
    return false;
}

bool amg_json_section(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const char *key, enum json_type type,
    struct json_object **ret_value)
{
    struct json_object *value = amg_json_get(object, key);
    char where[AMG_JSON_PATH_CAP];

    amg_json_path_key(where, path, key);
    if (value != NULL && !amg_json_is(log, where, value, type))
        return false;
    *ret_value = value;
    return true;
}

bool amg_json_int(const struct amg_margo_log *log, const char *path,
    struct json_object *value, int64_t min, int64_t max, int64_t *ret_number)
{
    int64_t number = 0;

    if (!amg_json_is(log, path, value, json_type_int))
        return false;
    /* For numbers beyond 64 bits, json-c returns the nearest 64-bit number,
     * which is outside of all ranges here. */
    number = json_object_get_int64(value);
    if (number < min || number > max) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s is %.40s; %lld to %lld is possible", path,
            json_object_to_json_string(value), (long long)min, (long long)max);
        return false;
    }
    *ret_number = number;
    return true;
}

/* Logs an unknown word, with the list of known words. `left`: index of the word
 * that is used instead; -1: the unknown word is refused. */
static void word_log(const struct amg_margo_log *log, const char *path,
    const char *const *words, const char *word, int left)
{
    char list[WORDS_CAP] = "";
    size_t len = 0;

    for (unsigned i = 0; words[i] != NULL && len < sizeof(list); i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
            i == 0 ? "" : ", ", words[i]);
    amg_margo_log_write(log, left < 0 ? MARGO_LOG_ERROR : MARGO_LOG_WARNING,
        "configuration: %s is '%.60s', which is unknown: there are %s%s%s",
        path, word, list, left < 0 ? "" : "; using ",
        left < 0 ? "" : words[left]);
}

static bool word_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, const struct amg_json_field *field,
    int *ret_word)
{
    bool is_hint = field->kind == AMG_JSON_HINT;
    const char *const *words = field->words;
    const char *word = NULL;

    if (!amg_json_is(log, path, value, json_type_string))
        return false;
    word = json_object_get_string(value);
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_word = i;
            return true;
        }
    }
    word_log(log, path, words, word, is_hint ? *ret_word : -1);
    return is_hint;
}

static bool text_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, const char **ret_text)
{
    const char *text = NULL;

    if (!amg_json_is(log, path, value, json_type_string))
        return false;
    text = json_object_get_string(value);
    if (strlen(text) != (size_t)json_object_get_string_len(value)) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "configuration: %s has a zero byte in it", path);
        return false;
    }
    *ret_text = text;
    return true;
}

static bool number_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, const struct amg_json_field *field, void *place)
{
    int64_t number = 0;

    if (!amg_json_int(log, path, value, field->min, field->max, &number))
        return false;
    if (field->kind == AMG_JSON_INT)
        *(int *)place = (int)number;
    else if (field->kind == AMG_JSON_UINT)
        *(unsigned *)place = (unsigned)number;
    else
        *(size_t *)place = (size_t)number;
    return true;
}

static bool field_read(const struct amg_margo_log *log, const char *path,
    struct json_object *value, const struct amg_json_field *field, void *target)
{
    void *place = (char *)target + field->offset;

    switch (field->kind) {
    case AMG_JSON_BOOL:
        if (!amg_json_is(log, path, value, json_type_boolean))
            return false;
        *(uint8_t *)place = json_object_get_boolean(value) != 0;
        return true;
    case AMG_JSON_INT:
    case AMG_JSON_UINT:
    case AMG_JSON_SIZE:
        return number_read(log, path, value, field, place);
    case AMG_JSON_TEXT:
        return text_read(log, path, value, place);
    case AMG_JSON_WORD:
    case AMG_JSON_HINT:
        return word_read(log, path, value, field, place);
    default:
        return true;
    }
}

static const struct amg_json_field *field_find(
    const struct amg_json_field *fields, const char *key)
{
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

bool amg_json_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const struct amg_json_field *fields,
    void *target)
{
    AMG_ASSERT(object != NULL && fields != NULL);
    json_object_object_foreach(object, key, value)
    {
        const struct amg_json_field *field = field_find(fields, key);
        char where[AMG_JSON_PATH_CAP];

        amg_json_path_key(where, path, key);
        if (field == NULL)
            amg_margo_log_write(log, MARGO_LOG_WARNING,
                "configuration: %s is unknown, and without effect", where);
        else if (value != NULL && !field_read(log, where, value, field, target))
            return false;
    }
    return true;
}

/* JSON value of one member; NULL: no memory. */
static struct json_object *field_json(
    const struct amg_json_field *field, const void *place)
{
    switch (field->kind) {
    case AMG_JSON_BOOL:
        return json_object_new_boolean(*(const uint8_t *)place != 0);
    case AMG_JSON_INT:
        return json_object_new_int(*(const int *)place);
    case AMG_JSON_UINT:
        return json_object_new_int64(*(const unsigned *)place);
    case AMG_JSON_SIZE:
        return json_object_new_int64((int64_t) * (const size_t *)place);
    case AMG_JSON_WORD:
    case AMG_JSON_HINT:
        return json_object_new_string(field->words[*(const int *)place]);
    default:
        return amg_json_string(*(const char *const *)place);
    }
}

/* Bytes of the UTF-8 character at `text` (RFC 3629); 0: not valid. */
static size_t utf8_len(const unsigned char *text)
{
    size_t len = text[0] < 0x80                       ? 1
                 : text[0] >= 0xc2 && text[0] <= 0xdf ? 2
                 : (text[0] & 0xf0) == 0xe0           ? 3
                 : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                      : 0;

    for (size_t i = 1; i < len; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* Not valid: an overlong form, a surrogate, or beyond U+10FFFF. */
    if ((text[0] == 0xe0 && text[1] < 0xa0) ||
        (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) ||
        (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return len;
}

struct json_object *amg_json_string(const char *text)
{
    enum { BYTE_LEN = 4 }; /* "\\xff" */
    char *valid = amg_mem_alloc(BYTE_LEN * strlen(text) + 1);
    struct json_object *string = NULL;
    size_t to = 0;

    if (valid == NULL)
        return NULL;
    for (size_t at = 0; text[at] != '\0';) {
        size_t len = utf8_len((const unsigned char *)text + at);

        if (len > 0)
            memcpy(valid + to, text + at, len);
        else
            (void)snprintf(valid + to, BYTE_LEN + 1, "\\x%02x",
                (unsigned)(unsigned char)text[at]);
        to += len > 0 ? len : BYTE_LEN;
        at += len > 0 ? len : 1;
    }
    string = json_object_new_string_len(valid, (int)to);
    amg_mem_free(valid);
    return string;
}

bool amg_json_write(struct json_object *object,
    const struct amg_json_field *fields, const void *source)
{
    for (; fields->key != NULL; fields++) {
        const void *place = (const char *)source + fields->offset;
        struct json_object *value = NULL;

        if (fields->kind == AMG_JSON_ELSEWHERE ||
            (fields->kind == AMG_JSON_TEXT &&
                *(const char *const *)place == NULL))
            continue;
        value = field_json(fields, place);
        if (value == NULL ||
            json_object_object_add(object, fields->key, value) != 0) {
            json_object_put(value);
            return false;
        }
    }
    return true;
}

/* Line and column of a byte of the text, from 1 on. */
static void position_find(
    const char *text, size_t at, unsigned *ret_line, unsigned *ret_column)
{
    unsigned line = 1;
    size_t start = 0;

    for (size_t i = 0; i < at && text[i] != '\0'; i++) {
        if (text[i] != '\n')
            continue;
        line++;
        start = i + 1;
    }
    *ret_line = line;
    *ret_column = (unsigned)(at - start) + 1;
}

/* Text behind the object is ignored, as in Margo: warns of such text, unless
 * the text is a comment. */
static void rest_log(const struct amg_margo_log *log, const char *what,
    const char *text, size_t end)
{
    unsigned line = 0;
    unsigned column = 0;

    end += strspn(text + end, " \t\r\n");
    if (text[end] == '\0' || text[end] == '/')
        return;
    position_find(text, end, &line, &column);
    amg_margo_log_write(log, MARGO_LOG_WARNING,
        "%s: line %u, column %u: text after the object is ignored: %.20s", what,
        line, column, text + end);
}

struct json_object *amg_json_parse(
    const struct amg_margo_log *log, const char *what, const char *text)
{
    size_t len = strlen(text);
    struct json_tokener *tokener =
        len < INT32_MAX ? json_tokener_new_ex(DEPTH_MAX) : NULL;
    struct json_object *object = NULL;
    enum json_tokener_error error = json_tokener_success;
    size_t end = 0;
    unsigned line = 0;
    unsigned column = 0;

    if (tokener == NULL) {
        amg_margo_log_write(log, MARGO_LOG_ERROR, "%s: %s", what,
            len < INT32_MAX ? "no memory" : "the text is longer than 2 GiB");
        return NULL;
    }
    /* Not strict: allows comments, and commas at the end of a list. */
    object = json_tokener_parse_ex(tokener, text, (int)len);
    error = json_tokener_get_error(tokener);
    end = json_tokener_get_parse_end(tokener);
    position_find(text, end, &line, &column);
    json_tokener_free(tokener);
    if (error != json_tokener_success) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "%s is no JSON: line %u, column %u: %s", what, line, column,
            error == json_tokener_continue ? "it ends too early"
                                           : json_tokener_error_desc(error));
    } else if (!json_object_is_type(object, json_type_object)) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "%s has to be a JSON object, {...}, and is %s", what,
            type_name(json_object_get_type(object)));
    } else {
        rest_log(log, what, text, end);
        return object;
    }
    json_object_put(object);
    return NULL;
}
