/* libgpuprof: reads profiles of gpuprof and nvprof, for programs in any language.
 *
 *   gpuprof_run* run = NULL;
 *   if (gpuprof_open("run.sqlite", &run) == 0) {
 *     struct ArrowArrayStream stream;
 *     if (gpuprof_table(run, "{\"table\": \"kernels\", \"columns\": [\"name\", \"duration\"]}",
 *                       &stream) == 0) {
 *       ... the caller owns the stream and ends it with stream.release(&stream)
 *     }
 *   }
 *   if (gpuprof_error(run)[0]) fprintf(stderr, "%s\n", gpuprof_error(run));
 *   gpuprof_close(run);
 *
 * Profiles are opened read-only and are treated as untrusted data: the SQL in a file runs under a
 * guard, and nothing in a file makes the library open another file.
 *
 * Errors: a function that can fail returns 0 on success, otherwise the exit code that the gpuprof
 * command would return (listed in its README: 5 is an invalid request, 20 an unreadable file) or
 * GPUPROF_STOPPED. gpuprof_error() and gpuprof_hint() then return the reason. No exception crosses
 * this interface, and no function ends the process.
 *
 * Threads: any thread may use any handle; calls with the same handle are serialized. Strings that a
 * handle owns stay valid until the next call with that handle, so threads that share a handle must
 * copy them under their own lock. A stream is owned by whoever holds it and outlives its run.
 *
 * Strings are UTF-8 and end with a 0 byte. Bytes in a file that are not valid UTF-8 read as U+FFFD.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C data interface and C stream interface: three structs whose layout is fixed by
 * https://arrow.apache.org/docs/format/CDataInterface.html. Arrow itself is neither needed nor
 * linked. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif

#define GPUPROF_EXPORT __attribute__((visibility("default")))

/* Increased when a change breaks existing callers; new functions do not increase it. */
#define GPUPROF_ABI_VERSION 1

/* Returned by a call that gpuprof_stop() ended. */
#define GPUPROF_STOPPED 130

typedef struct gpuprof_run gpuprof_run;

/* The GPUPROF_ABI_VERSION that the library was built with. */
GPUPROF_EXPORT int gpuprof_abi_version(void);

/* The version that `gpuprof --version` prints, for example "0.1.0". The library owns the string. */
GPUPROF_EXPORT const char* gpuprof_version(void);

/* Opens a profile. Even on failure *run is a handle, which has the error; it is NULL only when out
 * of memory. Free it with gpuprof_close() in either case. */
GPUPROF_EXPORT int gpuprof_open(const char* path, gpuprof_run** run);

/* Frees the run. NULL is allowed. No other call with the run may be in progress. Streams that were
 * made from the run stay valid. */
GPUPROF_EXPORT void gpuprof_close(gpuprof_run* run);

/* The error of the last call and advice on how to resolve it; "" if there is none. The run owns
 * both strings, until the next call. */
GPUPROF_EXPORT const char* gpuprof_error(const gpuprof_run* run);
GPUPROF_EXPORT const char* gpuprof_hint(const gpuprof_run* run);

/* Makes the call that another thread has in progress with this run end soon, with GPUPROF_STOPPED.
 * This is the only function that does not wait for that call. It does not affect later calls, and
 * gpuprof_open(), gpuprof_contents() and gpuprof_notes() cannot be stopped. */
GPUPROF_EXPORT void gpuprof_stop(gpuprof_run* run);

/* The file's contents: run, processes, devices, records, losses. JSON, as `gpuprof info --json`
 * prints it. The run owns *text. */
GPUPROF_EXPORT int gpuprof_contents(gpuprof_run* run, const char** text);

/* The tables and views of the file: JSON, an array of
 *   {"name", "doc", "view": true or false, "columns": [{"name", "type", "doc", "unit"}, ...]}
 * "type" is the column's type in a stream: int64, int32, float64, bool, text, binary, or "" if it
 * is known only after reading. The run owns *text. */
GPUPROF_EXPORT int gpuprof_catalogue(gpuprof_run* run, const char** text);

/* Reads rows of a table or view. `request` is a JSON object:
 *
 *   "table": "kernels"                     the only required member
 *   "columns": ["name", "duration"]        in this order; default: all
 *   "raw": true                            string ids and enum values as they are stored
 *   "from": 17, "to": 18                   rows with from <= start < to, ns
 *   "devices": [0], "processes": [42]      rows of any of these
 *   "matches": {"name": "gemm|conv"}       rows whose column matches a regular expression (search)
 *   "equals": {"stream_id": [7, null]}     rows whose column has one of these values
 *   "front": [["rank", "int64", 3], ["host", "text", "node7"]]   constant columns, placed first
 *   "limit": 10                            the first 10 rows only; default: all
 *
 * A condition on a column that the table lacks is an error; it is never ignored.
 *
 * On success the caller owns *stream. It has at most one chunk. Types follow from the schema,
 * whatever the file holds; a value that does not fit its column's type is NULL. Text, names and
 * enums are dictionary-encoded: int32 indices into large utf8. Columns without NULL have no
 * validity buffer. */
GPUPROF_EXPORT int gpuprof_table(gpuprof_run* run, const char* request,
                                 struct ArrowArrayStream* stream);

/* Runs an SQL query: one SELECT, or WITH ... SELECT. A column's type is the one that all its values
 * fit: int64, else float64; text if any value is text, else binary if any is a blob. A column
 * without values has the type of the table column it refers to, or else the null type. On success
 * the caller owns *stream. */
GPUPROF_EXPORT int gpuprof_sql(gpuprof_run* run, const char* sql, struct ArrowArrayStream* stream);

/* The named queries of `gpuprof query`: JSON, an array of {"name", "question", "sql"}. The library
 * owns the string. */
GPUPROF_EXPORT const char* gpuprof_queries(void);

/* Memory analysis: rows of one of the tables of `gpuprof memory --json`. `request` is a JSON
 * object:
 *
 *   "table": "memory_leaks"                the only required member
 *   "by": "nvtx"                           kind of owner: library, nvtx, stack, kind or pool;
 *                                          default: library
 *   "points": 1000                         number of points of memory_timeline; default: 0
 *   "torch": {"segments": [{...}]}         for torch_segments and torch_devices: the segments of
 *                                          PyTorch's allocator, see below
 *   "time": 1000, "process": 7             for these two: when (ns, CUPTI's clock) and in which
 *                                          process the snapshot was taken; default: inferred
 *   "front": [["rank", "int64", 3]]        as in gpuprof_table()
 *
 * A segment has "device", "address", "bytes", "stream", "blocks" (their number), "type" ("small",
 * "large"), "expandable" (true, false), and of its bytes "allocated", "active" (allocated, or
 * waiting for a stream), "requested" (of active) and those of the block "largest_free". Missing
 * members are 0. Next to "segments", "taken_at" is when the snapshot was taken (ns since 1970), and
 * "file" its name for errors. Segments that overlap, or have more in use than they have: 20.
 *
 * On success the caller owns *stream. */
GPUPROF_EXPORT int gpuprof_memory(gpuprof_run* run, const char* request,
                                  struct ArrowArrayStream* stream);

/* Where the time of each GPU went in each of several windows of time, as `gpuprof account` reports it
 * for one: steps, for example. `request` is a JSON object:
 *
 *   "windows": [[17, 18], [18, 20]]        from <= time < to, ns on CUPTI's clock; in order, not
 *                                          overlapping, 100,000 at most. The first one's from and
 *                                          the last one's to may be null: as the run
 *
 * The columns are window (its place in the list, from 0), device_id, class, cause, duration (ns) and
 * intervals, as the view account has them. The durations of a device add up to the window. A device
 * has rows in every window if the file has GPU work of it. The file is read once. On success the
 * caller owns *stream. */
GPUPROF_EXPORT int gpuprof_accounts(gpuprof_run* run, const char* request,
                                    struct ArrowArrayStream* stream);

/* Concatenates `count` streams of this library that have the same columns. Takes ownership of the
 * streams, even on failure; on success the caller owns *stream. Returns 0; 5 if the columns differ
 * or a stream is not of this library; or 4. May be called from any thread. */
GPUPROF_EXPORT int gpuprof_join(struct ArrowArrayStream* streams, int64_t count,
                                struct ArrowArrayStream* stream);

/* A report as text: "gpu-trace" is what the command's option --print-gpu-trace prints, several
 * names are separated by commas, and "" is the summary. `layout` is "text", "csv" or "json". The
 * run owns *text. */
GPUPROF_EXPORT int gpuprof_report(gpuprof_run* run, const char* names, const char* layout,
                                  const char** text);

/* Remarks on the file that its reader should know, one per line. The run owns *text. */
GPUPROF_EXPORT int gpuprof_notes(gpuprof_run* run, const char** text);

/* ---- Metrics of a chip: CUPTI's host API ----
 *
 * A gpuprof_host serves one chip, or none. Opening it loads CUPTI: the library named in the
 * request, else the one of this installation (of the Python package: that of nvidia-cuda-cupti),
 * else what the loader finds. Without a driver only some CUPTI versions work. Any thread may call;
 * calls with the same handle are serialized. */
typedef struct gpuprof_host gpuprof_host;

/* `request` is a JSON object; every member is optional:
 *
 *   "chip": "GH100"             CUPTI's chip name
 *   "device": 0                 use this device's chip and what it can count; requires a driver
 *   "profiler": "samples"       metrics of PM sampling; default: metrics of ranges
 *   "set": "..."                the single-pass set that contains all metrics
 *   "cupti": "/.../libcupti.so.13"
 *
 * Even on failure *host is a handle, which has the error; it is NULL only when out of memory. Free
 * it with gpuprof_host_close() in either case. */
GPUPROF_EXPORT int gpuprof_host_open(const char* request, gpuprof_host** host);
GPUPROF_EXPORT void gpuprof_host_close(gpuprof_host* host);

/* As gpuprof_error() and gpuprof_hint(), and the CUptiResult that caused the error, or 0. */
GPUPROF_EXPORT const char* gpuprof_host_error(const gpuprof_host* host);
GPUPROF_EXPORT const char* gpuprof_host_hint(const gpuprof_host* host);
GPUPROF_EXPORT int gpuprof_host_cupti_result(const gpuprof_host* host);

/* Answers a question about the chip. *text is JSON; the host owns it, until the next call.
 *
 *   {"ask": "chips"}                                    ["GV100", ...]
 *   {"ask": "chip"}                                     "GH100": the host's chip
 *   {"ask": "sets"}                                     single-pass sets of the chip
 *   {"ask": "metrics_in_set", "set": "..."}
 *   {"ask": "most_per_pass"}                            a number
 *   {"ask": "base_metrics", "type": 0}                  0 counters, 1 ratios, 2 throughputs
 *   {"ask": "sub_metrics", "metric": "dram__bytes_read", "type": 0}    [".sum", ...]
 *   {"ask": "properties", "metric": "..."}              {"description", "hw_unit", "dim_unit",
 *                                                        "type", "device_level"} */
GPUPROF_EXPORT int gpuprof_host_ask(gpuprof_host* host, const char* request, const char** text);

/* Builds the config image that collects `metrics` (a JSON array of full names). The host owns
 * *image, until the next call. *size is in bytes. */
GPUPROF_EXPORT int gpuprof_host_config_image(gpuprof_host* host, const char* metrics,
                                             const uint8_t** image, int64_t* size);

/* The number of passes that a config image of `size` bytes requires. */
GPUPROF_EXPORT int gpuprof_host_passes(gpuprof_host* host, const uint8_t* image, int64_t size,
                                       int64_t* passes);

/* Evaluates `metrics` (a JSON array of full names) for `count` samples or ranges of a counter data
 * image of `size` bytes; places[i] is the index of the i-th one in the image. `values` is the
 * caller's and has room for count * number of metrics: values[i * number of metrics + m], NaN where
 * there is no value. Large counts are evaluated on several threads. A host evaluates images of one
 * device only: CUPTI returns no values for a second one. */
GPUPROF_EXPORT int gpuprof_host_evaluate(gpuprof_host* host, const uint8_t* image, int64_t size,
                                         const int64_t* places, int64_t count, const char* metrics,
                                         double* values);

/* ---- PM sampling: counters of a whole device over time ----
 *
 * While sampling is started, CUPTI locks the GPU's clocks. A process has one session per device,
 * shared by all handles that open the device; it counts the metrics of all handles that have
 * started, which together must fit into one pass and use the same interval. No other process can
 * have the session meanwhile.
 *
 * Any thread may call; calls with the same handle are serialized, except gpuprof_pm_wait(). */
typedef struct gpuprof_pm gpuprof_pm;
typedef struct gpuprof_samples gpuprof_samples;

/* `request` is {"device": 0, "cupti": "..."}; both members are optional. The libcupti that the
 * first handle loads serves the whole process. Handle and errors as with gpuprof_host_open().
 * gpuprof_pm_close() stops sampling, and ends the session if no other handle shares it. */
GPUPROF_EXPORT int gpuprof_pm_open(const char* request, gpuprof_pm** pm);
GPUPROF_EXPORT void gpuprof_pm_close(gpuprof_pm* pm);
GPUPROF_EXPORT const char* gpuprof_pm_error(const gpuprof_pm* pm);
GPUPROF_EXPORT const char* gpuprof_pm_hint(const gpuprof_pm* pm);
GPUPROF_EXPORT int gpuprof_pm_cupti_result(const gpuprof_pm* pm);

/* Sets what is sampled. May be called repeatedly, but only while stopped. `request`:
 *
 *   "metrics": ["dram__bytes_read.sum", ...]    required
 *   "interval": 10000            ns; default: 10000
 *   "cycles": true               the interval is in cycles of the system clock instead
 *   "buffer_bytes": 536870912    hardware buffer on the GPU; this is the default
 *   "keep_latest": true          a full buffer loses only its oldest samples; default: it loses all
 *                                of them, and sampling starts again
 *   "set": "..."                 a single-pass set
 *
 * Metrics that do not fit into one pass are refused; the hint then lists sets of them that do. */
GPUPROF_EXPORT int gpuprof_pm_configure(gpuprof_pm* pm, const char* request);

/* Starts sampling. If `ring` > 0, a library thread decodes and evaluates samples and keeps the last
 * `ring` of them for gpuprof_pm_take(). If it is 0, gpuprof_pm_take() decodes. */
GPUPROF_EXPORT int gpuprof_pm_start(gpuprof_pm* pm, int64_t ring);
GPUPROF_EXPORT int gpuprof_pm_stop(gpuprof_pm* pm);

/* Blocks until the ring has a sample or no more will come, for at most this long (capped at one
 * hour). Returns at once without a ring. */
GPUPROF_EXPORT void gpuprof_pm_wait(gpuprof_pm* pm, int64_t milliseconds);

/* Takes the next samples, at most `most` (> 0). The first sample after a start is omitted, because
 * it begins before the start. On success the caller owns *samples and frees it with
 * gpuprof_samples_close(); on failure it is NULL. */
GPUPROF_EXPORT int gpuprof_pm_take(gpuprof_pm* pm, int64_t most, gpuprof_samples** samples);

/* The size in bytes of a counter data image with room for `samples` samples of `metrics` (a JSON
 * array of full names). */
GPUPROF_EXPORT int gpuprof_pm_image_bytes(gpuprof_pm* pm, const char* metrics, int64_t samples,
                                          int64_t* bytes);

/* State of the handle as JSON: {"chip", "consumers", "samples", "lost", "overflows", "problem"}.
 * The handle owns *text, until the next call. */
GPUPROF_EXPORT int gpuprof_pm_state(gpuprof_pm* pm, const char** text);

/* Samples that were taken. The caller owns them; they outlive the handle and are immutable. What
 * the functions below return is owned by `samples`. */
GPUPROF_EXPORT void gpuprof_samples_close(gpuprof_samples* samples);
GPUPROF_EXPORT int64_t gpuprof_samples_count(const gpuprof_samples* samples);
/* Including samples that are incomplete and the first one after a start. */
GPUPROF_EXPORT int64_t gpuprof_samples_populated(const gpuprof_samples* samples);
/* Start and end of each sample, ns on CUPTI's clock. */
GPUPROF_EXPORT const uint64_t* gpuprof_samples_starts(const gpuprof_samples* samples);
GPUPROF_EXPORT const uint64_t* gpuprof_samples_ends(const gpuprof_samples* samples);
/* Values of samples from a ring, in the layout of gpuprof_host_evaluate(). NULL if there was no
 * ring: the samples are then in images. */
GPUPROF_EXPORT const double* gpuprof_samples_values(const gpuprof_samples* samples);
/* The number of counter data images, which are in time order, and image `number` with the indices
 * of its samples (`places`, `count` of them). NULL if there is no image of that number. */
GPUPROF_EXPORT int64_t gpuprof_samples_images(const gpuprof_samples* samples);
GPUPROF_EXPORT const uint8_t* gpuprof_samples_image(const gpuprof_samples* samples, int64_t number,
                                                    int64_t* size, const int64_t** places,
                                                    int64_t* count);
/* The same moment on CUPTI's clock, CLOCK_REALTIME and CLOCK_MONOTONIC, ns. */
GPUPROF_EXPORT void gpuprof_samples_clocks(const gpuprof_samples* samples, int64_t clocks[3]);

#ifdef __cplusplus
}
#endif
