#include <cmath>
#include <memory>
#include <string>

#include "libprof/report/number.hpp"
#include "libprof/report/trace/source.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

void append_hexadecimal(std::string& text, std::int64_t number) {
  text += "0x";
  append_number(text, static_cast<std::uint64_t>(number), 16);
}

// To six decimals, like nvprof.
double half_up(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

// Unified memory: migrations and page faults.
class UnifiedMemorySource : public TraceSource {
 public:
  explicit UnifiedMemorySource(Session& session)
      : TraceSource(session,
                    {.rows = {.kind = "UNIFIED_MEMORY_COUNTER"},
                     .amounts = {{TraceField::duration,
                                  "CASE WHEN [end] > start THEN [end] - start ELSE 0 END"}}}) {}

 protected:
  std::vector<std::string_view> columns() override {
    return {"start", "end",   "counterKind", "value", "address",
            "srcId", "dstId", "processId",   "flags"};
  }
  void read() override {
    const std::int64_t end = integer(1), kind = integer(2), value = integer(3);
    text(TraceField::kind, "unified_memory");
    end > start() ? duration(end) : nothing(TraceField::duration);
    text(TraceField::name, name_of(kind));
    process(integer(7));
    if (std::string* text = this->text(TraceField::address)) {
      text->clear();
      append_hexadecimal(*text, integer(4));
    }
    devices(kind);
    session_.output().keyed() ? number(TraceField::unified_memory, value) : amount(kind, value);
  }

 private:
  static constexpr std::int64_t htod = schema::unified_memory("HtoD"),
                                dtod = schema::unified_memory("DtoD"),
                                cpu_fault = schema::unified_memory("CPU page faults"),
                                gpu_fault = schema::unified_memory("GPU page faults"),
                                thrash = schema::unified_memory("page thrash"),
                                throttle = schema::unified_memory("page throttle"),
                                remote_map = schema::unified_memory("remote map");

  static std::string name_of(std::int64_t kind) {
    static constexpr std::array<std::string_view, 9> names{
        "unknown",     "Memcpy HtoD",   "Memcpy DtoH", "CPU page faults", "GPU page faults",
        "page thrash", "page throttle", "remote map",  "Memcpy DtoD"};
    const bool known = kind > 0 && kind < static_cast<std::int64_t>(names.size());
    return "[Unified Memory " + std::string(names[known ? static_cast<std::size_t>(kind) : 0]) +
           "]";
  }

  std::string processor(std::int64_t id) {
    constexpr std::int64_t cpu = 0xffffffff;
    return (id & cpu) == cpu ? "CPU" : session_.names().device(id);
  }

  void devices(std::int64_t kind) {
    const std::int64_t source = integer(5), destination = integer(6);
    const bool on_cpu = integer(8) & 1;  // for thrashing and throttling
    switch (kind) {
      case cpu_fault: nothing(TraceField::device); break;
      case htod: TraceSource::devices(TraceField::device, processor(destination)); break;
      case remote_map:
      case dtod:
        TraceSource::devices(TraceField::device, processor(source) + ", " + processor(destination));
        break;
      case thrash: {
        std::string names = on_cpu ? "CPU" : "";
        for (int bit = 0; bit < 32; ++bit) {
          if (source >> bit & 1)
            names += (names.empty() ? "" : ", ") + session_.names().device(bit);
        }
        TraceSource::devices(TraceField::device, names);
        break;
      }
      default:
        TraceSource::devices(TraceField::device,
                             kind == throttle && on_cpu ? "CPU" : processor(source));
        break;
    }
  }

  // Bytes, a fault count, or the PC of a CPU fault. With fixed units the size is in bytes.
  void amount(std::int64_t kind, std::int64_t value) {
    const auto unsigned_value = static_cast<std::uint64_t>(value);
    if (kind == throttle) return nothing(TraceField::unified_memory);
    if (kind == cpu_fault || kind == gpu_fault) {
      std::string* text = this->text(TraceField::unified_memory);
      text->clear();
      if (kind == gpu_fault) return append_number(*text, unsigned_value);
      *text = "PC ";
      return append_hexadecimal(*text, value);
    }
    const Output& output = session_.output();
    if (output.csv()) return number(TraceField::unified_memory, value);
    if (Table::fixed_units(output)) {
      return text(TraceField::unified_memory, format_scaled(unsigned_value, size_scale(0),
                                                            {.width = 20, .exponent_from = 1000}));
    }
    const Scale scale = size_scale(unsigned_value);
    std::string number =
        scale.factor == 1
            ? std::to_string(unsigned_value)
            : format_fixed(half_up(static_cast<double>(unsigned_value) * scale.factor));
    text(TraceField::unified_memory, number.append(scale.unit));
  }
};

}  // namespace

std::unique_ptr<TraceSource> unified_memory_source(Session& session) {
  return std::make_unique<UnifiedMemorySource>(session);
}

}  // namespace gpuprof::report
