// A profile that is open for programs of other languages: what is behind a gpuprof_run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "libprof/c_api/gpuprof.h"
#include "libprof/read/profile_file.hpp"

// Calls take the mutex one after the other, all but stop(); what they left is read without it.
struct gpuprof_run {
 public:
  gpuprof_run() = default;
  gpuprof_run(const gpuprof_run&) = delete;
  gpuprof_run& operator=(const gpuprof_run&) = delete;

  int open(const char* path);
  void stop() { stop_ = true; }
  int contents(const char** text);
  int catalogue(const char** text);
  int table(const char* request, ArrowArrayStream* stream);
  int sql(const char* sql, ArrowArrayStream* stream);
  int memory(const char* request, ArrowArrayStream* stream);
  int report(const char* names, const char* layout, const char** text);
  int notes(const char** text);

  const char* error() const { return error_.c_str(); }
  const char* hint() const { return hint_.c_str(); }

 private:
  // Does it, with nothing thrown: an error becomes a text and a number.
  int guarded(const std::function<void()>& work) noexcept;
  // Asks a new connection, so that each question may be as much work as the file allows. Of a file
  // that proves damaged, a copy of what can be read is asked.
  void ask(const std::function<void(gpuprof::store::Database&)>& question);
  void check();
  void give(std::string text, const char** to);

  std::mutex mutex_;
  std::unique_ptr<gpuprof::reading::ProfileFile> file_;
  std::atomic<bool> stop_ = false;  // the call that is under way
  bool rescued_ = false;            // what the file has open is a copy of what can be read
  std::string error_, hint_;
  std::string text_;  // the last that was asked for
};
