// What the stand-in knows from its client, through CUPTI's functions, and from the driver's hooks.
//
// A process may have two copies of the library, and each has a state of its own: so nothing of this
// is seen outside of one.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"

namespace [[gnu::visibility("hidden")]] fake {

inline constexpr std::size_t kinds = 64;
inline constexpr std::size_t cbids = 1024;
inline constexpr std::size_t domains = CUPTI_CB_DOMAIN_SIZE;

enum Wish : char { not_said, on, off };

struct Cupti {
  std::array<std::atomic<bool>, kinds> enabled{};
  std::array<std::array<std::atomic<bool>, cbids>, domains> callbacks{};
  std::array<std::atomic<Wish>, cbids> runtime_wish{};
  std::array<std::atomic<Wish>, cbids> driver_wish{};
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> userdata{nullptr};
  std::atomic<bool> subscribed{false};
  std::atomic<bool> system_thread_ids{false};
  std::atomic<std::uint32_t> next_correlation{first_correlation()};
  std::atomic<std::int64_t> grid_id{0};

  std::mutex mutex;  // guards what was there before a kind was enabled
  std::vector<std::uint32_t> devices;
  std::map<std::uint32_t, std::uint32_t> contexts;  // id, device
  std::atomic<bool> driver_up{false};
  std::atomic<bool> was_serial{false};  // KERNEL was enabled
  // The driver was up when its client subscribed, which has not wanted kernels since.
  std::atomic<bool> subscribed_late{false};

  std::atomic<std::size_t> device_buffers{250};
  std::atomic<long> kernels{0};
  std::atomic<bool> latency_timestamps{false};
  std::atomic<bool> allocation_source{false};
  std::atomic<bool> hardware_tracing{false};
};

Cupti& cupti();

bool wants(std::uint32_t kind);

// Of this thread, as records have it.
std::uint32_t thread_id();

// A record of which nothing has been said yet.
template <class Record>
Record blank() {
  Record record;
  std::memset(static_cast<void*>(&record), poison, sizeof record);
  return record;
}

// Hardware tracing ends, and the client hears of it, if FAKE_CUPTI_HES wants that after this number
// of kernels.
void end_hardware_tracing(long kernels);

// Tells the client, if it asked for that.
void call_back(CUpti_CallbackDomain domain, std::uint32_t id, const void* data);

}  // namespace gnu::visibility("hidden")]]fake
