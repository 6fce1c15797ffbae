// The columns that are computed out of a CUPTI record.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "schema/activity/all.hpp"

#ifdef GPUPROF_HAVE_CUPTI

using namespace gpuprof::schema;

namespace {

constexpr std::uint32_t newest = 130500;
constexpr std::uint32_t oldest = 24;
constexpr std::uint32_t no_u32 = 0xffffffff;

template <class K>
const Field& field(std::string_view name) {
  for (const Field& candidate : K::fields) {
    if (candidate.column.name == name) return candidate;
  }
  throw std::runtime_error("no column " + std::string(name));
}

// What the column holds for this record.
template <class T, class K>
T value(const typename K::Record& record, std::string_view name, std::uint32_t version = newest) {
  const Field& f = field<K>(name);
  REQUIRE(f.extract != nullptr);
  REQUIRE(f.column.width == sizeof(T));
  T result;
  f.extract(&record, version, reinterpret_cast<std::byte*>(&result));
  return result;
}

}  // namespace

TEST_CASE("marker payloads are decoded by their kind") {
  MarkerData::Record record{};
  const auto whole = [&] { return value<std::int64_t, MarkerData>(record, "payloadInt"); };
  const auto real = [&] { return value<double, MarkerData>(record, "payloadDouble"); };

  record.payloadKind = CUPTI_METRIC_VALUE_KIND_INT64;
  record.payload.metricValueInt64 = -5;
  CHECK(whole() == -5);
  CHECK(std::isnan(real()));

  record.payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
  record.payload.metricValueUint64 = 7;
  CHECK(whole() == 7);
  CHECK(std::isnan(real()));

  record.payloadKind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
  record.payload.metricValueDouble = 2.5;
  CHECK(whole() == INT64_MIN);
  CHECK(real() == 2.5);

  record.payloadKind = CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD;
  CHECK(whole() == INT64_MIN);
  CHECK(std::isnan(real()));
}

TEST_CASE("object ids are distinguished by the kind of object") {
  Name::Record record{};
  const auto get = [&](std::string_view name) { return value<std::uint32_t, Name>(record, name); };

  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = 10;
  record.objectId.pt.threadId = 11;
  CHECK(get("threadId") == 11);
  CHECK(get("objectDeviceId") == no_u32);
  CHECK(get("objectContextId") == no_u32);
  CHECK(get("objectStreamId") == no_u32);

  record.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
  CHECK(get("threadId") == 0);

  record.objectId.dcs.deviceId = 1;
  record.objectId.dcs.contextId = 2;
  record.objectId.dcs.streamId = 3;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_STREAM;
  CHECK(get("threadId") == 0);
  CHECK(get("objectDeviceId") == 1);
  CHECK(get("objectContextId") == 2);
  CHECK(get("objectStreamId") == 3);
  record.objectKind = CUPTI_ACTIVITY_OBJECT_CONTEXT;
  CHECK(get("objectContextId") == 2);
  CHECK(get("objectStreamId") == no_u32);
  record.objectKind = CUPTI_ACTIVITY_OBJECT_DEVICE;
  CHECK(get("objectDeviceId") == 1);
  CHECK(get("objectContextId") == no_u32);
}

TEST_CASE("a full command buffer tells its channel, other overheads tell none") {
  CUpti_ActivityOverheadCommandBufferFullData data{};
  data.channelID = 4;
  data.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  Overhead::Record record{};
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  record.overheadData = &data;
  CHECK(value<std::uint32_t, Overhead>(record, "channelID") == 4);
  CHECK(value<std::uint32_t, Overhead>(record, "channelType") == CUPTI_CHANNEL_TYPE_COMPUTE);
  record.overheadData = nullptr;
  CHECK(value<std::uint32_t, Overhead>(record, "channelID") == no_u32);
  record.overheadData = &data;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER;
  CHECK(value<std::uint32_t, Overhead>(record, "channelID") == no_u32);
}

TEST_CASE("NVLink records read the same in both layouts") {
  struct Ports {
    std::int8_t port[32];
  };
  SECTION("before CUDA 13.2: ports inside the record") {
    CUpti_ActivityNvLink4 old{};
    old.physicalNvLinkCount = 2;
    std::memset(old.portDev0, 0xff, sizeof old.portDev0);
    std::memset(old.portDev1, 0xff, sizeof old.portDev1);
    old.portDev0[0] = 3;
    old.portDev0[1] = 4;
    old.portDev1[0] = 5;
    old.bandwidth = 25'000'000;
    old.nvswitchConnected = 1;
    NvLink::Record record{};
    static_assert(sizeof old > sizeof record);
    const auto& seen = reinterpret_cast<const NvLink::Record&>(old);
    for (const std::uint32_t version : {oldest, 130100u}) {
      CHECK(value<Ports, NvLink>(seen, "portDev0", version).port[1] == 4);
      CHECK(value<Ports, NvLink>(seen, "portDev0", version).port[2] == -1);
      CHECK(value<Ports, NvLink>(seen, "portDev1", version).port[0] == 5);
      CHECK(value<std::uint64_t, NvLink>(seen, "bandwidth", version) == 25'000'000);
      CHECK(value<std::uint8_t, NvLink>(seen, "nvswitchConnected", version) == 1);
    }
  }
  SECTION("since CUDA 13.2: ports behind pointers") {
    std::uint32_t ports[40];
    for (std::uint32_t i = 0; i < 40; ++i) ports[i] = i;
    ports[1] = CUPTI_NVLINK_INVALID_PORT;
    ports[2] = 128;
    NvLink::Record record{};
    record.physicalNvLinkCount = 4;
    record.portDev0 = ports;
    record.portDev1 = nullptr;
    record.bandwidth = 50'000'000;
    record.nvswitchConnected = 1;
    for (const std::uint32_t version : {130200u, newest}) {
      const Ports seen = value<Ports, NvLink>(record, "portDev0", version);
      CHECK(seen.port[0] == 0);
      CHECK(seen.port[1] == -1);
      CHECK(seen.port[2] == -1);
      CHECK(seen.port[3] == 3);
      CHECK(seen.port[4] == -1);
      CHECK(value<Ports, NvLink>(record, "portDev1", version).port[0] == -1);
      CHECK(value<std::uint64_t, NvLink>(record, "bandwidth", version) == 50'000'000);
      CHECK(value<std::uint8_t, NvLink>(record, "nvswitchConnected", version) == 1);
    }
    record.physicalNvLinkCount = 40;
    CHECK(value<Ports, NvLink>(record, "portDev0").port[31] == 31);
  }
  CHECK(field<NvLink>("portDev0").follows_pointer);
  CHECK(field<NvLink>("portDev1").follows_pointer);
}

TEST_CASE("environment values are in the columns of their kind") {
  Environment::Record record{};
  const auto get = [&](std::string_view name) {
    return value<std::uint32_t, Environment>(record, name);
  };
  record.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_SPEED;
  record.data.speed.smClock = 1980;
  record.data.speed.memoryClock = 2619;
  CHECK(get("smClock") == 1980);
  CHECK(get("memoryClock") == 2619);
  CHECK(get("power") == no_u32);
  CHECK(get("gpuTemperature") == no_u32);
  record.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_POWER;
  record.data.power.power = 300'000;
  record.data.power.powerLimit = 700'000;
  CHECK(get("power") == 300'000);
  CHECK(get("powerLimit") == 700'000);
  CHECK(get("smClock") == no_u32);
}

TEST_CASE("PCI Express records name a device or a bridge") {
  Pcie::Record record{};
  const auto get = [&](std::string_view name) { return value<std::uint32_t, Pcie>(record, name); };
  record.type = CUPTI_PCIE_DEVICE_TYPE_GPU;
  record.id.devId = 3;
  CHECK(get("deviceId") == 3);
  CHECK(get("bridgeId") == no_u32);
  CHECK(get("secondaryBus") == no_u32);
  record.type = CUPTI_PCIE_DEVICE_TYPE_BRIDGE;
  record.id.bridgeId = 9;
  record.attr.bridgeAttr.secondaryBus = 0x41;
  record.attr.bridgeAttr.vendorId = 0x10de;
  CHECK(get("deviceId") == no_u32);
  CHECK(get("bridgeId") == 9);
  CHECK(get("secondaryBus") == 0x41);
  CHECK(get("pciVendorId") == 0x10de);
}

TEST_CASE("a pool's size and process are distinguished") {
  Memory2::Record record{};
  record.memoryPoolConfig.pool.size = 4096;
  const auto get = [&](std::string_view name) {
    return value<std::uint64_t, Memory2>(record, name);
  };
  constexpr std::uint64_t none = 0xffffffffffffffff;
  CHECK(get("poolSize") == none);
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  CHECK(get("poolSize") == 4096);
  CHECK(get("poolProcessId") == none);
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  CHECK(get("poolSize") == none);
  CHECK(get("poolProcessId") == 4096);
}

TEST_CASE("a device attribute has a number when it is CUDA's") {
  DeviceAttribute::Record record{};
  record.value.vInt32 = -1;
  CHECK(value<std::int64_t, DeviceAttribute>(record, "valueInt") == INT64_MIN);
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE;
  CHECK(value<std::int64_t, DeviceAttribute>(record, "valueInt") == -1);
}

TEST_CASE("the access policy window's pointer is not stored") {
  ConcurrentKernel::Record record{};
  record.pAccessPolicyWindow = reinterpret_cast<CUaccessPolicyWindow*>(&record);
  CHECK(value<std::uint64_t, ConcurrentKernel>(record, "pAccessPolicyWindow") == 0);
}

#endif
