/* libgpuprof: profiles of gpuprof and nvprof for programs of any language.
 *
 *   gpuprof_run* run = NULL;
 *   if (gpuprof_open("run.sqlite", &run) == 0) {
 *     struct ArrowArrayStream stream;
 *     if (gpuprof_table(run, "{\"table\": \"kernels\", \"columns\": [\"name\", \"duration\"]}",
 *                       &stream) == 0) {
 *       ... the stream is the caller's: stream.release(&stream) ends it
 *     }
 *   }
 *   if (gpuprof_error(run)[0]) fprintf(stderr, "%s\n", gpuprof_error(run));
 *   gpuprof_close(run);
 *
 * Profiles are only read. What stands in one is data: its SQL runs under a guard, and nothing in it
 * is followed to another file.
 *
 * Functions that can fail return 0, or the exit code that the program gpuprof would end with (its
 * README lists them: 5 is a wrong question, 20 a file that cannot be read), or GPUPROF_STOPPED.
 * gpuprof_error() and gpuprof_hint() then say why. Nothing is thrown, and nothing ends the process.
 *
 * Threads: any thread may call with any run; calls with the same run wait for one another. Texts
 * that belong to a run stay until the next call with it, so who shares a run copies them under a
 * lock of his own. Streams belong to nobody but who has them, and outlive their run.
 *
 * Texts are UTF-8 with a 0 at their end. What a file has that is no UTF-8 reads as U+FFFD.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrow's C data interface and C stream interface: three structs, whose layout is fixed by
 * https://arrow.apache.org/docs/format/CDataInterface.html. Nothing of Arrow is needed or linked. */
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

/* Raised when something a caller can rely on is no longer so; new functions do not raise it. */
#define GPUPROF_ABI_VERSION 1

/* A call was ended by gpuprof_stop(). */
#define GPUPROF_STOPPED 130

typedef struct gpuprof_run gpuprof_run;

/* GPUPROF_ABI_VERSION of the library. */
GPUPROF_EXPORT int gpuprof_abi_version(void);

/* As the program says it: "0.1.0". */
GPUPROF_EXPORT const char* gpuprof_version(void);

/* Opens a profile. *run is a run also when this fails, to ask what is wrong; NULL: there is no
 * memory. gpuprof_close() ends it in either case. */
GPUPROF_EXPORT int gpuprof_open(const char* path, gpuprof_run** run);

/* NULL is taken too. */
GPUPROF_EXPORT void gpuprof_close(gpuprof_run* run);

/* What was wrong with the last call, and what can be done about it; "" if there is nothing to say.
 * Texts of the run, until its next call. */
GPUPROF_EXPORT const char* gpuprof_error(const gpuprof_run* run);
GPUPROF_EXPORT const char* gpuprof_hint(const gpuprof_run* run);

/* Ends the call with this run that another thread is in, soon, with GPUPROF_STOPPED. The one
 * function that waits for no other. */
GPUPROF_EXPORT void gpuprof_stop(gpuprof_run* run);

/* What is in the file: run, processes, devices, records, losses. JSON, as `gpuprof info --json`
 * has it; *text belongs to the run. */
GPUPROF_EXPORT int gpuprof_contents(gpuprof_run* run, const char** text);

/* Its tables and views: JSON, an array of
 *   {"name", "doc", "view": true or false, "columns": [{"name", "type", "doc", "unit"}, ...]}
 * "type" is what the column has in a stream: int64, int32, float64, bool, text, binary, or "" where
 * that is known only when it was read. *text belongs to the run. */
GPUPROF_EXPORT int gpuprof_catalogue(gpuprof_run* run, const char** text);

/* Rows of a table or view. `request` is a JSON object:
 *
 *   "table": "kernels"                     the one member that has to be there
 *   "columns": ["name", "duration"]        in this order; all, if it is missing
 *   "raw": true                            ids of strings and numbers of enums as they are stored
 *   "from": 17, "to": 18                   rows that begin then: from <= start < to, ns
 *   "devices": [0], "processes": [42]      rows of one of these
 *   "matches": {"name": "gemm|conv"}       columns in which a regular expression is found
 *   "equals": {"stream_id": [7, null]}     columns that have one of the values
 *   "front": [["rank", "int64", 3], ["host", "text", "node7"]]   columns in front: constants
 *   "limit": 10                            the first rows alone; all, if it is missing
 *
 * What the table has no column for is an error, never ignored.
 *
 * The stream has one chunk at most. Types follow from the schema, whatever the file holds; a value
 * that is not of its column's type is NULL. Texts, names and enums are dictionary-encoded: int32
 * indices of large utf8. Columns without NULL have no validity buffer. */
GPUPROF_EXPORT int gpuprof_table(gpuprof_run* run, const char* request,
                                 struct ArrowArrayStream* stream);

/* Answers a question in SQL: one SELECT, or WITH ... SELECT. A column's type is that of all its
 * values: int64, else float64, else text, or binary; one that has none has the type of the table's
 * column that it is, or the null type. */
GPUPROF_EXPORT int gpuprof_sql(gpuprof_run* run, const char* sql, struct ArrowArrayStream* stream);

/* What `gpuprof query` answers by name: JSON, an array of {"name", "question", "sql"}. */
GPUPROF_EXPORT const char* gpuprof_queries(void);

/* Where the memory went: rows of one of the tables of `gpuprof memory --json`. `request` is a JSON
 * object:
 *
 *   "table": "memory_leaks"                the one member that has to be there
 *   "by": "nvtx"                           what owners are: library, nvtx, stack, kind, pool (library)
 *   "points": 1000                         of memory_timeline (0)
 *   "torch": "snapshot.pickle"             of torch_segments and torch_devices: what PyTorch's
 *                                          torch.cuda.memory._dump_snapshot() wrote
 *   "time": 1000, "process": 7             of these: when that was (ns, CUPTI's clock), and where
 *                                          (worked out)
 *   "front": [["rank", "int64", 3]]        as above */
GPUPROF_EXPORT int gpuprof_memory(gpuprof_run* run, const char* request,
                                  struct ArrowArrayStream* stream);

/* Chunks of several streams of the same columns, one after the other. Takes the streams, also when
 * it fails. Returns 0, 5 if their columns differ, or 4. */
GPUPROF_EXPORT int gpuprof_join(struct ArrowArrayStream* streams, int64_t count,
                                struct ArrowArrayStream* stream);

/* A report as text: "gpu-trace" is what the program's option --print-gpu-trace prints, several
 * names have commas between them, "" is the summary. `layout`: "text", "csv" or "json".
 * *text belongs to the run. */
GPUPROF_EXPORT int gpuprof_report(gpuprof_run* run, const char* names, const char* layout,
                                  const char** text);

/* What a reader of the file should know of it, a line each. */
GPUPROF_EXPORT int gpuprof_notes(gpuprof_run* run, const char** text);

/* ---- Metrics of a chip: CUPTI's host API ----
 *
 * A gpuprof_host answers for one chip, or for none. CUPTI is loaded when it is opened: the one that
 * is named, else that of this installation (of the Python package: of nvidia-cuda-cupti), else what
 * the loader finds. Without a driver only some versions of CUPTI answer. Any thread may call; calls
 * with the same handle wait for one another. */
typedef struct gpuprof_host gpuprof_host;

/* `request`: a JSON object, whose members may all be missing:
 *
 *   "chip": "GH100"             as CUPTI calls it
 *   "device": 0                 the chip of that device, and what it can count; needs a driver
 *   "profiler": "samples"       metrics of PM sampling; of ranges, if it is missing
 *   "set": "..."                a single-pass set that all metrics are of
 *   "cupti": "/.../libcupti.so.13"
 *
 * *host is a host also when this fails, to ask what is wrong; NULL: there is no memory. */
GPUPROF_EXPORT int gpuprof_host_open(const char* request, gpuprof_host** host);
GPUPROF_EXPORT void gpuprof_host_close(gpuprof_host* host);

/* As gpuprof_error() and gpuprof_hint(); and the CUptiResult behind it, 0 if there is none. */
GPUPROF_EXPORT const char* gpuprof_host_error(const gpuprof_host* host);
GPUPROF_EXPORT const char* gpuprof_host_hint(const gpuprof_host* host);
GPUPROF_EXPORT int gpuprof_host_cupti_result(const gpuprof_host* host);

/* Answers a question; *text is JSON and belongs to the host until its next call.
 *
 *   {"ask": "chips"}                                    ["GV100", ...]
 *   {"ask": "chip"}                                     "GH100": the host's
 *   {"ask": "sets"}                                     single-pass sets of the chip
 *   {"ask": "metrics_in_set", "set": "..."}
 *   {"ask": "most_per_pass"}                            a number
 *   {"ask": "base_metrics", "type": 0}                  0 counters, 1 ratios, 2 throughputs
 *   {"ask": "sub_metrics", "metric": "dram__bytes_read", "type": 0}    [".sum", ...]
 *   {"ask": "properties", "metric": "..."}              {"description", "hw_unit", "dim_unit",
 *                                                        "type", "device_level"} */
GPUPROF_EXPORT int gpuprof_host_ask(gpuprof_host* host, const char* request, const char** text);

/* The configuration that collects metrics (a JSON array of full names). *image belongs to the host
 * until its next call. */
GPUPROF_EXPORT int gpuprof_host_config_image(gpuprof_host* host, const char* metrics,
                                             const uint8_t** image, int64_t* size);

/* How many passes a configuration takes. */
GPUPROF_EXPORT int gpuprof_host_passes(gpuprof_host* host, const uint8_t* image, int64_t size,
                                       int64_t* passes);

/* The values of `metrics` (a JSON array) of `count` samples or ranges of a counter data image, those
 * at `places` in it: values[i * number of metrics + m], NaN where there is none. Several threads for
 * many. A host evaluates images of one device: of a second one CUPTI gives no values. */
GPUPROF_EXPORT int gpuprof_host_evaluate(gpuprof_host* host, const uint8_t* image, int64_t size,
                                         const int64_t* places, int64_t count, const char* metrics,
                                         double* values);

/* ---- PM sampling: counters of a whole device over time ----
 *
 * While it is started CUPTI locks the GPU's clocks. A device has one session in a process, which all
 * who open it share, and which counts the metrics of all that have started: together they have to
 * fit into one pass, at one interval. Another process cannot have it meanwhile.
 *
 * Any thread may call; calls with the same handle wait for one another, all but gpuprof_pm_wait(). */
typedef struct gpuprof_pm gpuprof_pm;
typedef struct gpuprof_samples gpuprof_samples;

/* `request`: {"device": 0, "cupti": "..."}, both may be missing. The libcupti that the first one is
 * opened with is used for all that come. As gpuprof_host_open(). gpuprof_pm_close() stops, and ends
 * the session if nobody shares it. */
GPUPROF_EXPORT int gpuprof_pm_open(const char* request, gpuprof_pm** pm);
GPUPROF_EXPORT void gpuprof_pm_close(gpuprof_pm* pm);
GPUPROF_EXPORT const char* gpuprof_pm_error(const gpuprof_pm* pm);
GPUPROF_EXPORT const char* gpuprof_pm_hint(const gpuprof_pm* pm);
GPUPROF_EXPORT int gpuprof_pm_cupti_result(const gpuprof_pm* pm);

/* What is sampled; again and again, while it is stopped. `request`:
 *
 *   "metrics": ["dram__bytes_read.sum", ...]
 *   "interval": 10000            ns, or cycles of the system clock where
 *   "cycles": true
 *   "buffer_bytes": 536870912    on the GPU
 *   "keep_latest": true          a full buffer loses the oldest samples and not the session
 *   "set": "..."                 a single-pass set
 *
 * Metrics that do not fit into one pass are refused with sets of them that do. */
GPUPROF_EXPORT int gpuprof_pm_configure(gpuprof_pm* pm, const char* request);

/* `ring`: a thread of the library's decodes and evaluates from now on, and keeps the last so many
 * samples for gpuprof_pm_take(). 0: gpuprof_pm_take() decodes. */
GPUPROF_EXPORT int gpuprof_pm_start(gpuprof_pm* pm, int64_t ring);
GPUPROF_EXPORT int gpuprof_pm_stop(gpuprof_pm* pm);

/* Until there is a sample in the ring or none will come, at most so long. */
GPUPROF_EXPORT void gpuprof_pm_wait(gpuprof_pm* pm, int64_t milliseconds);

/* The next samples, at most so many. The first one after a start is not among them: it begins before
 * the start. */
GPUPROF_EXPORT int gpuprof_pm_take(gpuprof_pm* pm, int64_t most, gpuprof_samples** samples);

/* Bytes of a counter data image with room for so many samples of metrics (a JSON array). */
GPUPROF_EXPORT int gpuprof_pm_image_bytes(gpuprof_pm* pm, const char* metrics, int64_t samples,
                                          int64_t* bytes);

/* *text: {"chip", "consumers", "samples", "lost", "overflows", "problem"}. It belongs to the handle
 * until its next call. */
GPUPROF_EXPORT int gpuprof_pm_state(gpuprof_pm* pm, const char** text);

/* Samples that were taken. They belong to who took them, and outlive the handle; nothing about them
 * changes any more. */
GPUPROF_EXPORT void gpuprof_samples_close(gpuprof_samples* samples);
GPUPROF_EXPORT int64_t gpuprof_samples_count(const gpuprof_samples* samples);
/* With those that are not whole, and the first one. */
GPUPROF_EXPORT int64_t gpuprof_samples_populated(const gpuprof_samples* samples);
/* When each began and ended, ns on CUPTI's clock. */
GPUPROF_EXPORT const uint64_t* gpuprof_samples_starts(const gpuprof_samples* samples);
GPUPROF_EXPORT const uint64_t* gpuprof_samples_ends(const gpuprof_samples* samples);
/* Values of a ring's samples, as gpuprof_host_evaluate() gives them; NULL: they are in images. */
GPUPROF_EXPORT const double* gpuprof_samples_values(const gpuprof_samples* samples);
/* Counter data images in the order of time, and where in each the samples are. */
GPUPROF_EXPORT int64_t gpuprof_samples_images(const gpuprof_samples* samples);
GPUPROF_EXPORT const uint8_t* gpuprof_samples_image(const gpuprof_samples* samples, int64_t number,
                                                    int64_t* size, const int64_t** places,
                                                    int64_t* count);
/* The same moment on CUPTI's clock, on CLOCK_REALTIME and on CLOCK_MONOTONIC, ns. */
GPUPROF_EXPORT void gpuprof_samples_clocks(const gpuprof_samples* samples, int64_t clocks[3]);

#ifdef __cplusplus
}
#endif
