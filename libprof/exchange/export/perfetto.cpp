// A Perfetto trace: the messages are defined in protos/perfetto/trace of its sources.
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/protobuf.hpp"

namespace gpuprof::exporting {
namespace {

// Field numbers.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace packet {
constexpr std::uint32_t timestamp = 8, sequence = 10, track_event = 11, interned = 12,
                        sequence_flags = 13, counter_event = 52, stage_event = 53,
                        track_descriptor = 60;
constexpr std::int64_t state_cleared = 1, needs_state = 2;
}  // namespace packet
namespace track {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
constexpr std::uint32_t counter_unit = 6;
constexpr std::uint32_t process_pid = 1, process_name = 6;
constexpr std::uint32_t thread_pid = 1, thread_tid = 2, thread_name = 5;
}  // namespace track
namespace event {
constexpr std::uint32_t category = 3, annotation = 4, type = 9, name = 10, track = 11,
                        counter_value = 44, flow = 47;
constexpr std::int64_t slice_begin = 1, slice_end = 2, counter = 4;
}  // namespace event
namespace interned {
constexpr std::uint32_t categories = 1, names = 2, annotation_names = 3, iid = 1, name = 2;
}
// Input of Perfetto's tab for compute kernels: a GPU stage for each kernel, and counters whose
// values hold since the previous one.
namespace stage {
constexpr std::uint32_t event_id = 1, duration = 2, context = 5, extra = 6, gpu = 11, queue = 13,
                        stage = 14, name = 17, launch = 21;
constexpr std::uint32_t extra_name = 1, extra_value = 2, grid = 1, block = 2;
}  // namespace stage
namespace counters {
constexpr std::uint32_t descriptor = 1, values = 2, gpu = 3;
constexpr std::uint32_t specs = 1, id = 1, name = 2, groups = 10, value = 3;
constexpr std::int64_t compute_group = 6;
}  // namespace counters
namespace specification {
constexpr std::uint32_t contexts = 23, all = 24, iid = 1, name = 2, category = 4, pid = 2, api = 3;
constexpr std::int64_t compute = 2, cuda = 4;
}  // namespace specification
namespace annotation {
constexpr std::uint32_t name = 1, integer = 4, real = 5, text = 6;
}

// Slices of a track must be disjoint or nested, so what crosses others gets a separate lane. Beyond
// this many lanes, as only in a forged file, it does not.
constexpr std::size_t most_lanes = 64;

struct Lane {
  std::int64_t uuid = 0;
  std::vector<std::int64_t> ends;  // of the open slices
};

class PerfettoWriter : public FormatWriter {
 public:
  PerfettoWriter(TextFile& file, reading::Profile& profile) : file_(file), profile_(profile) {
    write(Message().number(packet::sequence_flags, packet::state_cleared));
  }

  void add(const Activity& activity) override {
    const std::int64_t uuid = lane(activity);
    Message fresh, slice(256);
    slice.number(event::category, iid(fresh, interned::categories, categories_, activity.type));
    annotate(fresh, slice, activity);
    slice.number(event::type, event::slice_begin)
        .number(event::name, iid(fresh, interned::names, names_, activity.name))
        .number(event::track, uuid);
    if (activity.correlation && (activity.launches || activity.group == Activity::Group::gpu)) {
      slice.fixed64(event::flow, static_cast<std::uint64_t>(activity.correlation));
    }
    Message begin(320);
    begin.number(packet::timestamp, activity.start)
        .number(packet::sequence_flags, packet::needs_state);
    if (!fresh.bytes().empty()) begin.message(packet::interned, fresh);
    write(begin.message(packet::track_event, slice));
    Message end;
    end.number(packet::timestamp, activity.end)
        .message(packet::track_event,
                 Message().number(event::type, event::slice_end).number(event::track, uuid));
    write(end);
    if (activity.shape && !activity.metrics.empty()) add_measured(activity);
  }
  void add(const reading::Counter& counter, std::int64_t time, double value) override {
    std::int64_t& uuid = counters_[{counter.of, counter.key}];
    if (!uuid) {
      const std::string device = profile_.names().device(counter.device);
      const std::string name =
          counter.process ? "GPU " + device + ": " + counter.name : counter.name;
      uuid = describe(Message()
                          .text(track::name, valid_utf8(name))
                          .number(track::parent,
                                  counter.process ? process(counter.process) : gpu(counter.device))
                          .message(track::counter,
                                   Message().text(track::counter_unit, valid_utf8(counter.unit))));
    }
    Message at;
    at.number(packet::timestamp, time)
        .message(packet::track_event, Message()
                                          .number(event::type, event::counter)
                                          .number(event::track, uuid)
                                          .real(event::counter_value, value));
    write(at);
  }
  void finish() override {}

 private:
  struct Place {
    const char* data;
    std::size_t size;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const {
      return std::hash<const char*>()(place.data) ^ place.size;
    }
  };
  using Numbers = std::unordered_map<Place, std::int64_t, PlaceHash>;
  // Group, NVTX domain, and what distinguishes tracks of the group.
  using Key = std::tuple<Activity::Group, std::string, std::array<std::int64_t, 4>>;

  void write(Message& message) {
    message.number(packet::sequence, 1);
    file_ << Message().head(trace::packet, message).bytes() << message.bytes();
  }

  // Numbers of texts, by address: activities have the same text at the same address.
  static std::int64_t iid(Message& fresh, std::uint32_t field, Numbers& numbers,
                          std::string_view text) {
    const auto [place, is_new] = numbers.try_emplace(Place{text.data(), text.size()},
                                                     static_cast<std::int64_t>(numbers.size()) + 1);
    if (is_new) {
      fresh.message(
          field,
          Message().number(interned::iid, place->second).text(interned::name, valid_utf8(text)));
    }
    return place->second;
  }

  void annotate(Message& fresh, Message& slice, const Activity& activity) {
    const auto named = [&](std::string_view name) {
      return Message().number(annotation::name,
                              iid(fresh, interned::annotation_names, annotations_, name));
    };
    const auto integer = [&](std::string_view name, std::int64_t value) {
      slice.message(event::annotation, named(name).number(annotation::integer, value));
    };
    const auto text = [&](std::string_view name, std::string_view value) {
      slice.message(event::annotation, named(name).text(annotation::text, valid_utf8(value)));
    };
    if (activity.correlation) integer("correlation_id", activity.correlation);
    if (activity.group == Activity::Group::gpu) {
      integer("device", activity.device);
      integer("context", activity.context);
      integer("stream", activity.stream);
      if (activity.process) integer("process_id", activity.process);
    }
    if (activity.bytes) integer("bytes", *activity.bytes);
    if (!activity.path.empty()) text("nvtx_path", activity.path);
    if (const auto& shape = activity.shape) {
      const auto three = [](const std::array<std::int64_t, 3>& sizes) {
        return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " +
               std::to_string(sizes[2]);
      };
      text("grid", three(shape->grid));
      text("block", three(shape->block));
      if (shape->registers) integer("registers_per_thread", *shape->registers);
      if (shape->static_memory) integer("static_shared_bytes", *shape->static_memory);
      if (shape->dynamic_memory) integer("dynamic_shared_bytes", *shape->dynamic_memory);
    }
    for (const auto& [metric, value] : activity.metrics) {
      slice.message(event::annotation, named(metric).real(annotation::real, value));
    }
  }

  // Adds a measured kernel a second time: with its values as counters, and its launch under Nsight
  // Compute's names.
  void add_measured(const Activity& activity) {
    Message fresh, event(512);
    if (stages_.empty()) {
      fresh.message(specification::all,
                    Message()
                        .number(specification::iid, 1)
                        .text(specification::name, "kernel")
                        .number(specification::category, specification::compute));
    }
    const auto [queue, is_new_queue] =
        stages_.try_emplace({activity.device, activity.process, activity.context, activity.stream},
                            static_cast<std::int64_t>(stages_.size()) + 2);
    if (is_new_queue) {
      const std::string name =
          "measured, " + profile_.names().process(activity.process) + " stream " +
          profile_.names().stream(activity.device, activity.context, activity.stream);
      fresh.message(specification::all, Message()
                                            .number(specification::iid, queue->second)
                                            .text(specification::name, valid_utf8(name)));
    }
    const auto [context, is_new_context] =
        contexts_.try_emplace(activity.process, static_cast<std::int64_t>(contexts_.size()) + 1);
    if (is_new_context) {
      fresh.message(specification::contexts, Message()
                                                 .number(specification::iid, context->second)
                                                 .number(specification::pid, activity.process)
                                                 .number(specification::api, specification::cuda));
    }
    event.number(stage::event_id, ++measured_)
        .number(stage::duration, activity.duration())
        .number(stage::context, context->second)
        .number(stage::gpu, activity.device)
        .number(stage::queue, queue->second)
        .number(stage::stage, 1)
        .text(stage::name, valid_utf8(activity.name));
    add_launch(event, activity);
    Message packet(640);
    packet.number(packet::timestamp, activity.start)
        .number(packet::sequence_flags, packet::needs_state);
    if (!fresh.bytes().empty()) packet.message(packet::interned, fresh);
    write(packet.message(packet::stage_event, event));
    // Of concurrent kernels only one can have the counters.
    std::int64_t& until = counted_until_[activity.device];
    if (activity.start < until) return;
    until = activity.end;
    add_values(activity, activity.start, true);
    add_values(activity, activity.end, false);
  }

  static void add_launch(Message& event, const Activity& activity) {
    const Activity::Shape& shape = *activity.shape;
    const auto extra = [&](std::string_view name, std::string_view value) {
      event.message(
          stage::extra,
          Message().text(stage::extra_name, name).text(stage::extra_value, valid_utf8(value)));
    };
    const auto number = [&](std::string_view name, std::int64_t value) {
      extra(name, std::to_string(value));
    };
    const auto size = [](const std::array<std::int64_t, 3>& sides) {
      return saturating_multiply(saturating_multiply(sides[0], sides[1]), sides[2]);
    };
    const auto three = [](const std::array<std::int64_t, 3>& sides) {
      return Message().number(1, sides[0]).number(2, sides[1]).number(3, sides[2]);
    };
    extra("kernel_demangled_name", activity.name);
    number("process_id", activity.process);
    number("correlation_id", activity.correlation);
    number("launch__grid_size", size(shape.grid));
    number("launch__block_size", size(shape.block));
    number("launch__thread_count", saturating_multiply(size(shape.grid), size(shape.block)));
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string axis(1, "xyz"[i]);
      number("launch__grid_size_" + axis, shape.grid[i]);
      number("launch__block_size_" + axis, shape.block[i]);
    }
    if (shape.registers) number("launch__registers_per_thread", *shape.registers);
    if (shape.static_memory) number("launch__shared_mem_per_block_static", *shape.static_memory);
    if (shape.dynamic_memory) number("launch__shared_mem_per_block_dynamic", *shape.dynamic_memory);
    event.message(stage::launch, Message()
                                     .message(stage::grid, three(shape.grid))
                                     .message(stage::block, three(shape.block)));
  }

  // A value holds from the time of the previous one on: the 0 at the kernel's beginning ends the
  // previous value.
  void add_values(const Activity& activity, std::int64_t time, bool begins) {
    Message descriptor, values;
    for (const auto& [metric, value] : activity.metrics) {
      const auto [id, is_new] =
          metric_counters_.try_emplace({activity.device, std::string(metric)},
                                       static_cast<std::int64_t>(metric_counters_.size()) + 1);
      if (is_new) {
        descriptor.message(counters::specs, Message()
                                                .number(counters::id, id->second)
                                                .text(counters::name, valid_utf8(metric))
                                                .number(counters::groups, counters::compute_group));
      }
      values.message(
          counters::values,
          Message().number(counters::id, id->second).real(counters::value, begins ? 0 : value));
    }
    Message event;
    if (!descriptor.bytes().empty()) event.message(counters::descriptor, descriptor);
    event.append(values).number(counters::gpu, activity.device);
    Message packet;
    packet.number(packet::timestamp, time).message(packet::counter_event, event);
    write(packet);
  }

  // The track for the activity: the first lane with room for it.
  std::int64_t lane(const Activity& activity) {
    const bool gpu = activity.group == Activity::Group::gpu;
    const bool own = activity.type != "start_end";  // of a thread
    Key key{activity.group, std::string(activity.domain), {activity.process, 0, 0, 0}};
    if (gpu)
      std::get<2>(key) = {activity.process, activity.device, activity.context, activity.stream};
    if (activity.group == Activity::Group::api || activity.group == Activity::Group::range) {
      std::get<2>(key) = {activity.process, own ? activity.thread : 0, own ? 0 : 1, 0};
    }
    std::vector<Lane>& lanes = lanes_[key];
    for (Lane& lane : lanes) {
      while (!lane.ends.empty() && lane.ends.back() <= activity.start) lane.ends.pop_back();
      const bool fits = lane.ends.empty() || (!gpu && lane.ends.back() >= activity.end);
      if (!fits && !(lanes.size() == most_lanes && &lane == &lanes.back())) continue;
      lane.ends.push_back(activity.end);
      return lane.uuid;
    }
    lanes.push_back({new_track(activity, own), {activity.end}});
    return lanes.back().uuid;
  }

  std::int64_t new_track(const Activity& activity, bool own) {
    switch (activity.group) {
      case Activity::Group::gpu:
        return child(gpu(activity.device),
                     "stream " + profile_.names().stream(activity.device, activity.context,
                                                         activity.stream));
      case Activity::Group::api: return child(thread(activity), "CUDA API");
      case Activity::Group::range:
        return child(own ? thread(activity) : process(activity.process),
                     activity.domain.empty() ? "NVTX" : "NVTX " + std::string(activity.domain));
      case Activity::Group::synchronization: break;
    }
    return child(process(activity.process), "synchronizations");
  }

  std::int64_t describe(Message track) {
    track.number(track::uuid, ++uuid_);
    Message described;
    write(described.message(packet::track_descriptor, track));
    return uuid_;
  }
  std::int64_t child(std::int64_t parent, const std::string& name) {
    return describe(Message().text(track::name, valid_utf8(name)).number(track::parent, parent));
  }
  std::int64_t gpu(std::int64_t device) {
    std::int64_t& uuid = gpus_[device];
    if (!uuid) {
      uuid = describe(
          Message().text(track::name, valid_utf8("GPU " + profile_.names().device(device))));
    }
    return uuid;
  }
  std::int64_t process(std::int64_t id) {
    std::int64_t& uuid = processes_[id];
    if (!uuid) {
      uuid = describe(Message().message(
          track::process,
          Message()
              .number(track::process_pid, id)
              .text(track::process_name, valid_utf8(profile_.names().process(id)))));
    }
    return uuid;
  }
  std::int64_t thread(const Activity& activity) {
    const std::int64_t parent = process(activity.process);
    std::int64_t& uuid = threads_[{activity.process, activity.thread}];
    if (!uuid) {
      Message thread;
      thread.number(track::thread_pid, activity.process).number(track::thread_tid, activity.thread);
      if (const std::string* given = profile_.names().thread(activity.thread)) {
        thread.text(track::thread_name, valid_utf8(*given));
      }
      uuid = describe(Message().number(track::parent, parent).message(track::thread, thread));
    }
    return uuid;
  }

  TextFile& file_;
  reading::Profile& profile_;
  Numbers categories_, names_, annotations_;
  std::map<Key, std::vector<Lane>> lanes_;
  std::map<std::int64_t, std::int64_t> gpus_, processes_;
  std::map<std::array<std::int64_t, 2>, std::int64_t> threads_;
  std::map<std::pair<reading::Counter::Of, std::array<std::int64_t, 4>>, std::int64_t> counters_;
  std::int64_t uuid_ = 0;
  // For measured kernels: numbers of streams, of processes, and of metrics by device.
  std::map<std::array<std::int64_t, 4>, std::int64_t> stages_;
  std::map<std::int64_t, std::int64_t> contexts_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> metric_counters_;
  std::map<std::int64_t, std::int64_t> counted_until_;  // by device
  std::int64_t measured_ = 0;
};

}  // namespace

extern const FileFormat perfetto_format{
    .name = "perfetto",
    .ending = ".pftrace",
    .begins = {"\x0a\x04\x68\x01\x50\x01", 6},  // the first packet
    .help = "for ui.perfetto.dev",
    .counters = true,
    .make = [](TextFile& file, reading::Profile& profile) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<PerfettoWriter>(file, profile);
    },
};

}  // namespace gpuprof::exporting
