// nccl: what NCCL does with the profiler plug-in that NCCL_PROFILER_PLUGIN names, with each version
// from 3 to 6 of its interface, one after the other, and then with answers that no NCCL would give.
// At the end the program is killed. It answers 2 if there is no plug-in, and 3 if that asks for
// events that slow NCCL.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

enum : std::uint64_t {
  group = 0x1,
  coll = 0x2,
  p2p = 0x4,
  slow = 0xf8,
  group_api = 0x100,
  coll_api = 0x200,
  p2p_api = 0x400,
  ce_coll = 0x1000,
};

// The parts of descriptors of an event, by version; those of 3 begin with the communicator's name
// and id.
struct Coll {
  std::uint64_t number;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;
};
struct P2p {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
};
struct Named {
  const char* name;
  std::uint64_t communicator;
};
struct NamedColl : Named {
  Coll rest;
};
struct NamedP2p : Named {
  P2p rest;
};
struct CollApi {
  const char* function;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};
struct P2pApi {
  const char* function;
  std::size_t count;
  const char* type;
  void* stream;
  bool captured;
};
struct Descriptor {
  std::uint64_t kind;  // versions 3 and 4 read the first byte
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    NamedColl named_coll;
    NamedP2p named_p2p;
    CollApi coll_api;
    P2pApi p2p_api;
    char room[256];
  };
};

using Init3 = int (*)(void**, int*);
using Init4 = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
using Init5 = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);

struct Plugin {
  const char* name;
  void* init;
  int (*start)(void*, void**, Descriptor*);
  int (*stop)(void*);
  int (*state)(void*, int, void*);
  int (*finalize)(void*);
};

class Communicator {
 public:
  Communicator(void* library, int version, std::uint64_t id) : version_(version), id_(id) {
    plugin_ =
        static_cast<Plugin*>(dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    if (!plugin_) std::exit(2);
    int mask = 0;
    if (version == 3) {
      reinterpret_cast<Init3>(plugin_->init)(&context_, &mask);
    } else if (version == 4) {
      reinterpret_cast<Init4>(plugin_->init)(&context_, &mask, "pair", id_, 1, 2, 1, nullptr);
    } else {
      reinterpret_cast<Init5>(plugin_->init)(&context_, id_, &mask, "pair", 1, 2, 1, nullptr);
    }
    if (mask & slow) std::exit(3);
    wanted_ = mask & (coll | p2p | ce_coll);
  }
  ~Communicator() {
    if (context_) plugin_->finalize(context_);
  }

  // One kernel for these.
  void send_and_receive() {
    void* const send = call_p2p("Send");
    void* const receive = call_p2p("Recv");
    fake_driver_launch("ncclDevKernel_SendRecv", 1);
    begin_group();
    add_p2p("Send", send);
    add_p2p("Recv", receive);
  }
  // `own_launch`: false for a graph's, of which NCCL reports on a thread of CUDA's.
  void collective(const char* function, std::size_t count, const char* type, bool captured = false,
                  bool own_launch = true) {
    void* const call = call_coll(function, count, type, captured);
    if (own_launch) fake_driver_launch("ncclDevKernel", 1);
    const auto report = [&] {
      begin_group();
      add_coll(function, count, type, call);
    };
    own_launch ? report() : std::thread(report).join();
  }
  void copied() {
    Descriptor event = event_of(ce_coll);
    event.coll = {1, "AllGather", nullptr, nullptr, 64, 0, "ncclInt32", 0, 0, "UC", nullptr, {}};
    start(event);
  }

  void lie() {
    static const std::string huge(1 << 20, '\xff');
    for (const char* text : {static_cast<const char*>(nullptr), "", huge.c_str()}) {
      for (const std::size_t count : {std::size_t{0}, ~std::size_t{0}}) {
        add_coll(text, count, text, reinterpret_cast<void*>(~std::uintptr_t{0}));
      }
      Descriptor event = event_of(p2p);
      event.p2p = {text, nullptr, text, ~std::size_t{0}, -7, 255, nullptr};
      start(event);
    }
    Descriptor event = event_of(~std::uint64_t{0});
    start(event);
    plugin_->start(context_, &handle_, nullptr);
    plugin_->start(context_, nullptr, &event);
    event.kind = coll;
    for (const std::uintptr_t wild :
         {std::uintptr_t{0}, std::uintptr_t{5000}, ~std::uintptr_t{0}}) {
      plugin_->start(reinterpret_cast<void*>(wild), &handle_, &event);
      plugin_->finalize(reinterpret_cast<void*>(wild));
      plugin_->stop(reinterpret_cast<void*>(wild));
      plugin_->state(reinterpret_cast<void*>(wild), -1, nullptr);
    }
    reinterpret_cast<Init5>(plugin_->init)(nullptr, 0, nullptr, nullptr, -1, -1, -1, nullptr);
  }

 private:
  static Descriptor event_of(std::uint64_t kind) {
    Descriptor event;
    std::memset(&event, 0, sizeof event);
    event.kind = kind;
    event.rank = 1;
    return event;
  }
  void* start(Descriptor& event) {
    handle_ = nullptr;
    plugin_->start(context_, &handle_, &event);
    if (handle_) plugin_->stop(handle_);
    return handle_;
  }
  void* call_coll(const char* function, std::size_t count, const char* type, bool captured) {
    if (version_ < 5) return nullptr;
    Descriptor event = event_of(coll_api);
    event.coll_api = {function, count, type, 0, nullptr, captured};
    return start(event);
  }
  void* call_p2p(const char* function) {
    if (version_ < 5) return nullptr;
    Descriptor event = event_of(p2p_api);
    event.p2p_api = {function, 8, "ncclFloat64", nullptr, false};
    return start(event);
  }
  void begin_group() {
    if (!wanted_) return;
    Descriptor event = event_of(group);
    start(event);
  }
  void add_coll(const char* function, std::size_t count, const char* type, void* call) {
    if (!wanted_) return;
    Descriptor event = event_of(coll);
    event.parent = call;
    Coll its{9, function, nullptr, nullptr, count, 0, type, 4, 16, "RING", "LL", nullptr};
    // NCCL moves bytes then.
    if (function && std::strcmp(function, "AllGather") == 0) {
      its.count *= sizeof(float);
      its.type = "ncclInt8";
    }
    if (version_ == 3) {
      event.named_coll = {{"pair", id_}, its};
    } else {
      event.coll = its;
    }
    start(event);
  }
  void add_p2p(const char* function, void* call) {
    if (!wanted_) return;
    Descriptor event = event_of(p2p);
    event.parent = call;
    const P2p its{function, nullptr, "ncclFloat64", 8, 0, 2, nullptr};
    if (version_ == 3) {
      event.named_p2p = {{"pair", id_}, its};
    } else {
      event.p2p = its;
    }
    start(event);
  }

  int version_;
  std::uint64_t id_;
  Plugin* plugin_ = nullptr;
  void* context_ = nullptr;
  void* handle_ = nullptr;
  int wanted_ = 0;
};

}  // namespace

// The work of the last launches does not end.
[[noreturn]] void hang(void* library, std::string_view how) {
  Communicator communicator(library, 6, 0xc0ffee06);
  communicator.collective("AllReduce", 1000, "ncclFloat32");
  fake_capture_begin();
  fake_launch("captured", 1);
  fake_capture_end();
  fake_synchronize();
  fake_kernel_time(1'000'000'000'000'000);
  if (how == "launches") fake_launch("gemm", 3);
  for (int i = 0; how == "operations" && i < 2; ++i) {
    communicator.collective("AllReduce", 10, "ncclFloat32");
  }
  while (true) pause();
}

int main(int argc, char** argv) {
  fake_init();
  const char* const path = std::getenv("NCCL_PROFILER_PLUGIN");
  void* const library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) return 2;
  if (argc > 1) hang(library, argv[1]);
  for (int version = 3; version <= 6; ++version) {
    Communicator communicator(library, version, 0xc0ffee00 + static_cast<unsigned>(version));
    communicator.collective("AllReduce", 1000, "ncclFloat32");
    fake_launch("gemm", 1);
    communicator.collective("AllGather", 256, "ncclFloat32");
    communicator.send_and_receive();
    communicator.collective("AllReduce", 10, "ncclBfloat16");
    communicator.collective("Broadcast", 2, "ncclOfLater", true, false);
    fake_capture_begin();
    communicator.collective("ReduceScatter", 4, "ncclFloat16", true);
    fake_launch("gemm", 1);
    fake_capture_end();
    fake_captured_launch(3);
    if (version == 6) communicator.copied();
  }
  fake_synchronize();
  Communicator communicator(library, 6, 0x11e5);
  communicator.lie();
  dlclose(library);
  usleep(300'000);  // on a busy machine, the times of what has ended are known late
  std::raise(SIGKILL);
}
