// The activity buffers of the stand-in: asked for in the thread that has a record to write, filled
// there, given back by a worker thread or by the thread that flushes.
//
// As measured on an H200: each thread fills a buffer of its own; the record of a piece of GPU work
// is there from the launch on, unfinished; its times come when the buffer is full or flushed; a
// forced flush gives back what is unfinished without times.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace fake {

void register_buffer_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                               CUpti_BuffersCallbackCompleteFunc completed);

// Appends a record of record_size(kind) bytes. Any thread.
void append(std::uint32_t kind, const void* record);
// The same for GPU work whose start and end (two u64 at `times_at`) are not known until `end`.
void append_unfinished(std::uint32_t kind, const void* record, std::size_t times_at,
                       std::uint64_t start, std::uint64_t end);

// Returns when all buffers it gives back were taken.
void flush_all(bool forced);

// Records nobody had room for, since the last call.
std::size_t take_dropped();

// In the child of a fork: no thread and no lock of the parent's is touched any more.
void buffers_forked();
bool are_forked();

// Whether it is a driver function that only the collector calls.
bool is_only_collectors(std::uint32_t cbid);

std::uint64_t timestamp();
// cuptiActivityRegisterTimestampCallback: a clock of the client's that is as fast.
void use_clock(CUpti_TimestampCallbackFunc clock);
// A time of timestamp()'s as records have it.
std::uint64_t in_clients_clock(std::uint64_t time);

}  // namespace fake
