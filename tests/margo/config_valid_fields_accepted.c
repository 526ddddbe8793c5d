/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that Margo takes in a configuration, field by field: each opens an
 * instance, and the lines about it are about a field that is not there. */
#include "one.h"

/* Fields of the text itself. */
static const char *const top[] = {
    "",
    "'version':'0.22'",
    "'progress_timeout_ub_msec':0",
    "'progress_timeout_ub_msec':1000",
    "'progress_spindown_msec':0",
    "'handle_cache_size':0",
    "'handle_cache_size':1",
    "'use_progress_thread':true",
    "'use_progress_thread':false",
    "'rpc_thread_count':-1",
    "'rpc_thread_count':0",
    "'rpc_thread_count':2",
    "'enable_abt_profiling':false",
    "'progress_pool':0",
    "'progress_pool':'__primary__'",
    "'rpc_pool':0",
    "'rpc_pool':'__primary__'",
    "'monitoring':{'config':{'filename_prefix':'p','statistics':{'disable':"
    "true,'precision':9,'pretty_json':true,'sample_progress_every':2},"
    "'time_series':{'disable':true,'precision':9,'pretty_json':true,"
    "'time_interval_sec':0.5}}}",
    "'plumber':{}",
    "'plumber':{'bucket_policy':'package','nic_policy':'roundrobin'}",
    "'plumber':{'bucket_policy':'all','nic_policy':'passthrough'}",
    "'mercury':{}",
    "'argobots':{}",
};

/* Fields of the section "mercury". */
static const char *const mercury[] = {
    "'address':'self://1'",
    "'listening':true",
    "'version':'2.4.0'",
    "'auto_sm':false",
    "'auto_sm':true",
    "'stats':false",
    "'na_no_block':true",
    "'na_no_retry':true",
    "'no_bulk_eager':true",
    "'no_loopback':true",
    "'max_contexts':1",
    "'max_contexts':8",
    "'request_post_init':256",
    "'request_post_incr':256",
    "'request_post_incr':-1",
    "'input_eager_size':4080",
    "'output_eager_size':4080",
    "'na_max_unexpected_size':0",
    "'na_max_unexpected_size':65536",
    "'na_max_expected_size':65536",
    "'na_addr_format':'unspec'",
    "'na_addr_format':'ipv4'",
    "'na_addr_format':'ipv6'",
    "'na_addr_format':'native'",
    "'ip_subnet':'127.0.0.0/8'",
    "'ip_subnet':'127.0'",
    "'ip_subnet':''",
    "'auth_key':''",
    "'auth_key':'1:2'",
    "'log_level':'error'",
    "'log_level':'warning'",
    "'log_subsys':'hg'",
    "'log_subsys':'hg,na'",
    "'sm_info_string':''",
    "'sm_info_string':'one'",
    "'checksum_level':'none'",
    "'checksum_level':'rpc_headers'",
    "'checksum_level':'rpc_payload'",
    "'na_request_mem_device':false",
    "'release_input_early':true",
    "'no_overflow':false",
    "'no_multi_recv':true",
    "'multi_recv_op_max':4",
    "'multi_recv_copy_threshold':0",
    "'traffic_class':'unspec'",
};

/* Fields of the section "argobots". */
static const char *const argobots[] = {
    "'abt_mem_max_num_stacks':8",
    "'abt_mem_max_num_stacks':0",
    "'abt_thread_stacksize':2097152",
    "'profiling_dir':'.'",
    "'version':'1.2'",
    "'lazy_stack_alloc':false",
    "'pools':[]",
    "'xstreams':[]",
    "'pools':[{}],'xstreams':[{'scheduler':{'pools':[0]}}]",
    "'pools':[{'name':'a'},{'name':'b'}],'xstreams':[{'scheduler':{'pools':"
    "['a',1]}}]",
};

static const char *const kinds[] = {
    "fifo_wait", "fifo", "prio_wait", "earliest_first", "randws"};
static const char *const accesses[] = {
    "mpmc", "private", "spsc", "mpsc", "spmc"};
static const char *const types[] = {
    "basic_wait", "default", "basic", "prio", "randws"};
static const char *const binds[] = {
    "", "'cpubind':-1,", "'cpubind':0,", "'affinity':[],", "'affinity':[0],"};

static unsigned failures;

/* Opens an instance with a text whose quotes are single ones. */
static void take(const char *format, const char *part)
{
    char text[512];
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    (void)snprintf(text, sizeof(text), format, part);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
    mid = one_open(text);
    if (mid == MARGO_INSTANCE_NULL || one_said("unknown")) {
        fprintf(stderr, "%s:\n%s", text, one_lines);
        failures++;
    }
    if (mid != MARGO_INSTANCE_NULL)
        margo_finalize(mid);
}

static void take_all(const char *format, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take(format, parts[i]);
}

#define TAKE(format, parts)                                                    \
    take_all(format, parts, sizeof(parts) / sizeof(parts[0]))

int main(void)
{
    TAKE("{%s}", top);
    TAKE("{'mercury':{%s}}", mercury);
    TAKE("{'argobots':{%s}}", argobots);
    TAKE("{'argobots':{'pools':[{'name':'p','kind':'%s'}]}}", kinds);
    TAKE("{'argobots':{'pools':[{'name':'p','access':'%s'}]}}", accesses);
    TAKE("{'argobots':{'pools':[{'name':'p'}],'xstreams':[{'name':'x',"
         "'scheduler':{'type':'%s','pools':['p']}}]}}",
        types);
    TAKE("{'argobots':{'pools':[{'name':'p'}],'xstreams':[{'name':'x',%s"
         "'scheduler':{'pools':['p']}}]}}",
        binds);
    return failures == 0 ? 0 : 1;
}
