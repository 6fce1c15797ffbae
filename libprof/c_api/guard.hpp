// Base of the handles: turns exceptions into error texts and exit codes.
#pragma once

#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/cupti/refused.hpp"

namespace gpuprof::c_api {

class Guard {
 public:
  const char* error() const { return error_.c_str(); }
  const char* hint() const { return hint_.c_str(); }
  int cupti_result() const { return result_; }

  // Runs `work` under the lock, never throws, and returns what the C function is to return.
  template <class Work>
  int guarded(Work&& work) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      error_.clear();
      hint_.clear();
      result_ = 0;
      try {
        std::forward<Work>(work)();
        return 0;
      } catch (const cupti::Refused& refused) {
        result_ = refused.result();
        return tell(refused.what(), refused.hint(), refused.exit_code());
      } catch (const Error& error) {
        return tell(error.what(), error.hint(), error.exit_code());
      } catch (const std::bad_alloc&) {
        return tell("out of memory", "", ExitCode::internal);
      } catch (const std::exception& error) {
        return tell(error.what(), "", ExitCode::internal);
      }
    } catch (...) {
      return static_cast<int>(ExitCode::internal);
    }
  }

 private:
  int tell(const char* message, const std::string& hint, ExitCode code) {
    error_ = valid_utf8(message);
    hint_ = valid_utf8(hint);
    return static_cast<int>(code);
  }

  std::mutex mutex_;
  std::string error_, hint_;
  int result_ = 0;
};

// Returns a handle even if opening fails, so that the error can be read.
template <class Handle>
int open_handle(const char* what, Handle** handle) {
  *handle = new (std::nothrow) Handle();
  if (!*handle) return static_cast<int>(ExitCode::internal);
  return (*handle)->open(what);
}

}  // namespace gpuprof::c_api
