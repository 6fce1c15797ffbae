#include "apps/salvage/sandbox.hpp"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace gpuprof::salvage {
namespace {

// The most that --activity-buffers can ask for, plus half.
constexpr std::uint64_t largest_arena = std::uint64_t{96} << 30;
constexpr rlim_t most_files = 128;
constexpr rlim_t memory_besides = rlim_t{4} << 30;  // for CUPTI and its threads, mostly untouched
constexpr rlim_t rows_per_record = 4;

#ifdef GPUPROF_SANITIZED
constexpr bool address_space_is_ours = false;  // a sanitizer reserves terabytes of it
#else
constexpr bool address_space_is_ours = true;
#endif

// Keeps a lower existing limit.
bool limit(__rlimit_resource_t what, rlim_t value) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return false;
  if (now.rlim_max < value) value = now.rlim_max;
  const rlimit lower{value, value};
  return setrlimit(what, &lower) == 0;
}

bool become(uid_t user, gid_t group) {
  if (setgroups(0, nullptr) != 0 || setresgid(group, group, group) != 0 ||
      setresuid(user, user, user) != 0) {
    return false;
  }
  uid_t real = 0, effective = 0, saved = 0;
  return getresuid(&real, &effective, &saved) == 0 && real == user && effective == user &&
         saved == user;
}

}  // namespace

bool enter_sandbox(const wire::Fields& config, std::uint64_t arena_bytes) {
  if (arena_bytes > largest_arena) return false;
  const auto seconds = static_cast<rlim_t>(config.integer("seconds", 60));
  bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && limit(RLIMIT_CORE, 0) &&
              limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, most_files) &&
              limit(RLIMIT_CPU, seconds);
  if (address_space_is_ours) {
    done &= limit(RLIMIT_AS, memory_besides + rows_per_record * arena_bytes);
  }
  if (done && config.find("user")) {
    done = config.find("group") && become(static_cast<uid_t>(config.integer("user")),
                                          static_cast<gid_t>(config.integer("group")));
  }
  // Last, because changing credentials resets it.
  return done && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

}  // namespace gpuprof::salvage
