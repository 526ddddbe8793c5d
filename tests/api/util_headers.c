/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that uses every helper header a little: workers count words, pass
 * them by a queue, and wake the main thread, which keeps them in a table. Works
 * without any RPC. */
#include <mercury_atomic.h>
#include <mercury_atomic_queue.h>
#include <mercury_byteswap.h>
#include <mercury_compiler_attributes.h>
#include <mercury_dl.h>
#include <mercury_dlog.h>
#include <mercury_event.h>
#include <mercury_hash_string.h>
#include <mercury_hash_table.h>
#include <mercury_inet.h>
#include <mercury_list.h>
#include <mercury_log.h>
#include <mercury_mem.h>
#include <mercury_mem_pool.h>
#include <mercury_param.h>
#include <mercury_poll.h>
#include <mercury_queue.h>
#include <mercury_request.h>
#include <mercury_sys_queue.h>
#include <mercury_thread.h>
#include <mercury_thread_annotation.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_mutex.h>
#include <mercury_thread_pool.h>
#include <mercury_thread_rwlock.h>
#include <mercury_thread_spin.h>
#include <mercury_time.h>
#include <mercury_util.h>

#include <stdio.h>
#include <string.h>

enum { WORDS = 40, WORKERS = 3, LONG_MS = 30000 };

HG_LOG_DECL_REGISTER(words);
HG_LOG_SUBSYS_DECL_REGISTER(table, words);

#define CHECK(expr) ((expr) ? (void)0 : check_failed(#expr, __FILE__, __LINE__))

static int failures;

static void check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    failures++;
}

/* A word in the queue; memory of the pool. */
struct word {
    char text[16];
    HG_LIST_ENTRY(word) entry;
};

static struct hg_atomic_queue *queue;
static struct hg_mem_pool *pool;
static int event_fd;
static hg_atomic_int32_t made = HG_ATOMIC_VAR_INIT(0);
static hg_thread_spin_t spin;
static hg_thread_rwlock_t rwlock;
static int made_under_lock;

static HG_THREAD_RETURN_TYPE word_make(void *arg)
{
    struct word *word = hg_mem_pool_alloc(pool, sizeof(*word), NULL);

    if (word == NULL)
        return (hg_thread_ret_t)0;
    snprintf(word->text, sizeof(word->text), "word%d", *(int *)arg);
    hg_thread_spin_lock(&spin);
    made_under_lock++;
    hg_thread_spin_unlock(&spin);
    hg_atomic_incr32(&made);
    if (hg_atomic_queue_push(queue, word) != HG_UTIL_SUCCESS)
        hg_mem_pool_free(pool, word, NULL);
    hg_event_set(event_fd);
    return (hg_thread_ret_t)0;
}

static unsigned int word_hash(hg_hash_table_key_t key)
{
    return hg_hash_string((const char *)key);
}

static int word_equal(hg_hash_table_key_t a, hg_hash_table_key_t b)
{
    return strcmp((const char *)a, (const char *)b) == 0;
}

/* Waits for words until all are in the table. */
static void words_gather(hg_hash_table_t *table)
{
    hg_poll_set_t *set = hg_poll_create();
    struct hg_poll_event event = {HG_POLLIN, {.fd = event_fd}}, got;
    hg_time_t start, now;
    unsigned int count;

    CHECK(set != NULL && hg_poll_add(set, event_fd, &event) == HG_UTIL_SUCCESS);
    hg_time_get_current(&start);
    now = start;
    while (hg_hash_table_num_entries(table) < WORDS &&
           hg_time_less(now, hg_time_add(start, hg_time_from_ms(LONG_MS)))) {
        struct word *word;

        hg_poll_wait(set, 100, 1, &got, &count);
        if (count == 1 && got.data.fd == event_fd)
            hg_event_get(event_fd, NULL);
        while ((word = hg_atomic_queue_pop_sc(queue)) != NULL)
            CHECK(hg_hash_table_insert(table, word->text, word) != 0);
        hg_time_get_current(&now);
    }
    CHECK(hg_poll_remove(set, event_fd) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_destroy(set) == HG_UTIL_SUCCESS);
}

static void words_count(void)
{
    static struct hg_thread_work works[WORDS];
    static int numbers[WORDS];
    hg_hash_table_t *table = hg_hash_table_new(word_hash, word_equal);
    hg_hash_table_iter_t iter;
    hg_thread_pool_t *workers;
    char wanted[] = "word7";
    int seen = 0;

    queue = hg_atomic_queue_alloc(64);
    pool = hg_mem_pool_create(sizeof(struct word), 16, 1, NULL, 0, NULL, NULL);
    event_fd = hg_event_create();
    CHECK(queue != NULL && pool != NULL && table != NULL && event_fd >= 0);
    CHECK(hg_thread_pool_init(WORKERS, &workers) == HG_UTIL_SUCCESS);
    for (int i = 0; i < WORDS; i++) {
        numbers[i] = i;
        works[i].func = word_make;
        works[i].args = &numbers[i];
        CHECK(hg_thread_pool_post(workers, &works[i]) == HG_UTIL_SUCCESS);
    }
    words_gather(table);
    CHECK(hg_thread_pool_destroy(workers) == HG_UTIL_SUCCESS);
    CHECK(hg_atomic_get32(&made) == WORDS && made_under_lock == WORDS);
    CHECK(hg_atomic_queue_is_empty(queue));
    CHECK(hg_hash_table_lookup(table, wanted) != HG_HASH_TABLE_NULL);
    hg_hash_table_iterate(table, &iter);
    while (hg_hash_table_iter_has_more(&iter)) {
        hg_mem_pool_free(pool, hg_hash_table_iter_next(&iter), NULL);
        seen++;
    }
    CHECK(seen == WORDS);
    hg_hash_table_free(table);
    hg_mem_pool_destroy(pool);
    hg_atomic_queue_free(queue);
    CHECK(hg_event_destroy(event_fd) == HG_UTIL_SUCCESS);
}

/* The usual job of a condition and its lock. */
static hg_thread_mutex_t mutex = HG_THREAD_MUTEX_INITIALIZER;
static hg_thread_cond_t cond = HG_THREAD_COND_INITIALIZER;
static int is_ready;

static HG_THREAD_RETURN_TYPE ready_set(void *arg)
{
    hg_thread_mutex_lock(&mutex);
    is_ready = *(int *)arg;
    hg_thread_cond_signal(&cond);
    hg_thread_mutex_unlock(&mutex);
    return (hg_thread_ret_t)0;
}

static void threads_meet(void)
{
    hg_thread_t thread;
    int one = 1, rc = HG_UTIL_SUCCESS;

    CHECK(hg_thread_create(&thread, ready_set, &one) == HG_UTIL_SUCCESS);
    hg_thread_mutex_lock(&mutex);
    while (!is_ready && rc == HG_UTIL_SUCCESS)
        rc = hg_thread_cond_timedwait(&cond, &mutex, LONG_MS);
    CHECK(is_ready);
    hg_thread_mutex_unlock(&mutex);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_init(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_rdlock(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_release_rdlock(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_destroy(&rwlock) == HG_UTIL_SUCCESS);
}

static void log_use(void)
{
    static struct hg_dlog_entry entries[2];
    static struct hg_dlog dlog =
        HG_DLOG_INITIALIZER("api", dlog, entries, 2, 1);
    char text[512] = "";
    FILE *file = tmpfile();

    CHECK(file != NULL);
    if (file == NULL)
        return;
    hg_log_set_stream_error(file);
    HG_Util_set_log_level("error");
    HG_LOG_WRITE(words, HG_LOG_LEVEL_WARNING, "not shown");
    HG_LOG_SUBSYS_WRITE(table, words, HG_LOG_LEVEL_ERROR, "no room for %d", 5);
    CHECK(hg_dlog_addlog(&dlog, __FILE__, __LINE__, __func__, "m", NULL) == 1);
    hg_dlog_dump(&dlog, fprintf, file, 0);
    hg_log_set_stream_error(NULL);
    rewind(file);
    CHECK(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    CHECK(strstr(text, "words: error: table: no room for 5 (") == text);
    CHECK(strstr(text, "not shown") == NULL);
    CHECK(strstr(text, "debug log api: 1 entries") != NULL);
}

static void memory_use(void)
{
    char *page = hg_mem_aligned_alloc(HG_MEM_PAGE_SIZE, 100);
    char *body = hg_mem_header_alloc(8, HG_MEM_CACHE_LINE_SIZE, 100);

    CHECK(page != NULL && body != NULL);
    CHECK((uintptr_t)body % HG_MEM_CACHE_LINE_SIZE == 0);
    memset(body - 8, 1, 108);
    hg_mem_header_free(8, HG_MEM_CACHE_LINE_SIZE, body);
    hg_mem_aligned_free(page);
    CHECK(hg_mem_get_page_size() >= HG_MEM_PAGE_SIZE);
}

/* A request that its own trigger function completes. */
static int nothing_progresses(unsigned int timeout, void *arg)
{
    (void)timeout;
    (void)arg;
    return HG_UTIL_FAIL;
}

static int request_complete_it(
    unsigned int timeout, unsigned int *flag, void *arg)
{
    hg_request_t **request = arg;

    (void)timeout;
    *flag = *request != NULL;
    if (*request != NULL)
        hg_request_complete(*request);
    *request = NULL;
    return HG_UTIL_SUCCESS;
}

static void request_use(void)
{
    hg_request_t *pending = NULL, *request = NULL;
    hg_request_class_t *cls =
        hg_request_init(nothing_progresses, request_complete_it, &pending);
    unsigned int flag = 0;
    void *arg = NULL;

    request = hg_request_create(cls);
    pending = request;
    CHECK(hg_request_wait(request, LONG_MS, &flag) == HG_UTIL_SUCCESS);
    CHECK(flag == HG_UTIL_TRUE);
    hg_request_destroy(request);
    hg_request_finalize(cls, &arg);
    CHECK(arg == &pending);
}

int main(void)
{
    unsigned int major = 0;
    HG_DL_HANDLE self = hg_dl_open(NULL);

    CHECK(HG_Util_version_get(&major, NULL, NULL) == HG_UTIL_SUCCESS);
    CHECK(major == HG_UTIL_VERSION_MAJOR);
    CHECK(self != NULL && hg_dl_sym(self, "HG_Util_version_get") != NULL);
    CHECK(hg_dl_close(self) == HG_UTIL_SUCCESS);
    CHECK(ntohll(htonll(5)) == 5 && bswap_16(1) == 256 && MAX(1, 2) == 2);
    CHECK(hg_thread_spin_init(&spin) == HG_UTIL_SUCCESS);
    words_count();
    CHECK(hg_thread_spin_destroy(&spin) == HG_UTIL_SUCCESS);
    threads_meet();
    log_use();
    memory_use();
    request_use();
    return failures == 0 ? 0 : 1;
}
