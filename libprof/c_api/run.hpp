// Implementation of gpuprof_run: an open profile for programs in other languages.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "libprof/c_api/gpuprof.h"
#include "libprof/read/profile_file.hpp"

// All calls but stop() lock the mutex. error() and hint() read what the last call left, without it.
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
  // Runs `work` and never throws: an exception becomes an error text and an exit code.
  int guarded(const std::function<void()>& work) noexcept;
  // Runs the question on a new connection, so that each one has the file's whole work budget. If
  // the file proves to be damaged, the question runs on a copy of what can be read.
  void ask(const std::function<void(gpuprof::store::Database&)>& question);
  void check();
  void give(std::string text, const char** to);

  std::mutex mutex_;
  std::unique_ptr<gpuprof::reading::ProfileFile> file_;
  std::atomic<bool> stop_ = false;  // set by stop() for the call in progress
  bool rescued_ = false;            // file_ has opened a copy of what can be read
  std::string error_, hint_;
  std::string text_;  // the last text returned
};
