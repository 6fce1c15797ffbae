// The machine and where things ran: devices, contexts, streams, links, and the devices' condition
// over time.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {

// CUpti_ActivityNvLink5 came with 13.2: it has ports behind pointers, which moved the following
// members.
inline constexpr std::uint32_t nvlink5_since = 130200;

inline const CUpti_ActivityNvLink4& nvlink4(const CUpti_ActivityNvLink5& record) {
  return reinterpret_cast<const CUpti_ActivityNvLink4&>(record);
}

// nvprof's form: 32 ports of one byte each, -1 = unused. Links after the 32nd are omitted.
inline void nvlink_ports(const CUpti_ActivityNvLink5& record, const std::uint32_t* ports,
                         std::byte* out) {
  for (std::uint32_t i = 0; i < 32; ++i) {
    const bool used = ports != nullptr && i < record.physicalNvLinkCount && ports[i] <= 127;
    out[i] = used ? static_cast<std::byte>(ports[i]) : std::byte{0xff};
  }
}

inline void nvlink_port0(const CUpti_ActivityNvLink5& record, std::uint32_t version,
                         std::byte* out) {
  if (version < nvlink5_since) std::memcpy(out, nvlink4(record).portDev0, 32);
  else nvlink_ports(record, record.portDev0, out);
}

inline void nvlink_port1(const CUpti_ActivityNvLink5& record, std::uint32_t version,
                         std::byte* out) {
  if (version < nvlink5_since) std::memcpy(out, nvlink4(record).portDev1, 32);
  else nvlink_ports(record, record.portDev1, out);
}

inline void nvlink_bandwidth(const CUpti_ActivityNvLink5& record, std::uint32_t version,
                             std::byte* out) {
  put(out, version < nvlink5_since ? nvlink4(record).bandwidth : record.bandwidth);
}

inline void nvlink_nvswitch(const CUpti_ActivityNvLink5& record, std::uint32_t version,
                            std::byte* out) {
  put(out, version < nvlink5_since ? nvlink4(record).nvswitchConnected : record.nvswitchConnected);
}

inline void pcie_device(const CUpti_ActivityPcie& record, std::uint32_t, std::byte* out) {
  const bool gpu = number_of(record.type) == CUPTI_PCIE_DEVICE_TYPE_GPU;
  put(out, gpu ? static_cast<std::uint32_t>(record.id.devId) : null_u32);
}

inline void pcie_bridge(const CUpti_ActivityPcie& record, std::uint32_t, std::byte* out) {
  put(out, number_of(record.type) == CUPTI_PCIE_DEVICE_TYPE_BRIDGE ? record.id.bridgeId : null_u32);
}

template <auto Member>
void pcie_bridge_attribute(const CUpti_ActivityPcie& record, std::uint32_t, std::byte* out) {
  const bool bridge = number_of(record.type) == CUPTI_PCIE_DEVICE_TYPE_BRIDGE;
  put(out, bridge ? std::uint32_t{record.attr.bridgeAttr.*Member} : null_u32);
}

inline void attribute_value(const CUpti_ActivityDeviceAttribute& record, std::uint32_t,
                            std::byte* out) {
  const bool cuda = (record.flags & CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE) != 0;
  put(out, cuda ? std::int64_t{record.value.vInt32} : null_i64);
}

// A member of the union, if the record is of its kind.
template <CUpti_ActivityEnvironmentKind Kind, auto Part, auto Member>
void environment(const CUpti_ActivityEnvironment& record, std::uint32_t, std::byte* out) {
  const bool there = number_of(record.environmentKind) == Kind;
  put(out, there ? static_cast<std::uint32_t>((record.data.*Part).*Member) : null_u32);
}

}  // namespace extract
#endif

KIND(Device, 8, DEVICE, CUpti_ActivityDevice6, topology, enable_and_dump,
     "The devices of the machine.",
     COL(u32, flags, "bit 0: kernels can run at the same time"),
     COL(u64, globalMemoryBandwidth, "[kB/s] bandwidth of the device's memory"),
     COL(u64, globalMemorySize, "[bytes] memory"),
     COL(u32, constantMemorySize, "[bytes] constant memory"),
     COL(u32, l2CacheSize, "[bytes] second-level cache"),
     COL(u32, numThreadsPerWarp, "[count] threads of a warp"),
     COL(u32, coreClockRate, "[kHz] clock of the multiprocessors"),
     COL(u32, numMemcpyEngines, "[count] copy engines"),
     COL(u32, numMultiprocessors, "[count] multiprocessors (SM)"),
     COL(u32, maxIPC, "instructions per cycle of a multiprocessor, at most"),
     COL(u32, maxWarpsPerMultiprocessor, "[count] warps on a multiprocessor, at most"),
     COL(u32, maxBlocksPerMultiprocessor, "[count] blocks on a multiprocessor, at most"),
     COL(u32, maxSharedMemoryPerMultiprocessor, "[bytes] shared memory of a multiprocessor"),
     COL(u32, maxRegistersPerMultiprocessor, "[count] 32-bit registers of a multiprocessor"),
     COL(u32, maxRegistersPerBlock, "[count] 32-bit registers of a block, at most"),
     COL(u32, maxSharedMemoryPerBlock, "[bytes] shared memory of a block, at most"),
     COL(u32, maxThreadsPerBlock, "[count] threads of a block, at most"),
     COL(u32, maxBlockDimX, "[count] threads of a block in x, at most"),
     COL(u32, maxBlockDimY, "[count] threads of a block in y, at most"),
     COL(u32, maxBlockDimZ, "[count] threads of a block in z, at most"),
     COL(u32, maxGridDimX, "[count] blocks in x, at most"),
     COL(u32, maxGridDimY, "[count] blocks in y, at most"),
     COL(u32, maxGridDimZ, "[count] blocks in z, at most"),
     COL(u32, computeCapabilityMajor, "compute capability, before the dot"),
     COL(u32, computeCapabilityMinor, "compute capability, after the dot"),
     COL(u32, id, "the device, as the other tables' deviceId has it"),
     COL(u32, eccEnabled, "1 = error correction is on"), BLOB(16, uuid, "the device's UUID"),
     STR(name, "name of the model: StringTable id"),
     COL(u8, isCudaVisible, "1 = CUDA_VISIBLE_DEVICES lets the process see it"),
     COL(u8, isMigEnabled, "1 = cut into MIG instances"),
     COL(u32, gpuInstanceId, "MIG GPU instance; 4294967295 = no MIG"),
     COL(u32, computeInstanceId, "MIG compute instance; 4294967295 = no MIG"),
     BLOB(16, migUuid, "UUID of the MIG instance; zeros = no MIG"),
     COL(u32, isNumaNode, "1 = its memory is a NUMA node of the host"),
     COL(u32, numaId, "that NUMA node; means nothing when isNumaNode is 0"),
     since(130200, COL(u32, numTpcs, "[count] texture processing clusters (TPC); 0 = not known")))

KIND(Context, 9, CONTEXT, CUpti_ActivityContext4, topology, enable_and_dump, "CUDA contexts.",
     COL(u32, contextId, "the context"), COL(u32, deviceId, "its device"),
     COL(u16, computeApiKind, "enum CUpti_ActivityComputeApiKind"),
     COL(u16, nullStreamId, "its default stream: STREAM.streamId"),
     COL(u32, parentContextId, "context it was made from; 0 = none"),
     COL(u8, isGreenContext, "1 = a green context"),
     COL(u16, numMultiprocessors, "[count] multiprocessors of a green context"),
     COL(u32, cigMode, "CUDA in graphics: enum CUpti_ContextCigMode"))

KIND(DeviceAttribute, 28, DEVICE_ATTRIBUTE, CUpti_ActivityDeviceAttribute, topology, ourselves,
     "Attributes of the devices, as the CUDA driver gives them.",
     COL(u32, flags, "1 = attribute is a CUdevice_attribute, 0 = a CUpti_DeviceAttribute"),
     COL(u32, deviceId, "the device"), BLOB(4, attribute, "the attribute; read attributeId"),
     BLOB(8, value, "its value; read valueInt"),
     COL_AS(u32, "attributeId", attribute, "which attribute: enum CUdevice_attribute"),
     NULLABLE(i64, "valueInt", extract::attribute_value,
              "its value when flags is 1, else NULL"))

KIND(Stream, 37, STREAM, CUpti_ActivityStream, topology, enable_and_dump, "CUDA streams.",
     COL(u32, contextId, "context it was made in"), COL(u32, streamId, "the stream"),
     COL(i32, priority, "priority; a lower number goes first"),
     COL(u32, flag, "how it was made: enum CUpti_ActivityStreamFlag"),
     CORRELATION(correlationId, "joins the API call that made it; 0 = none"))

KIND(GreenContext, 59, GREEN_CONTEXT, CUpti_ActivityGreenContext3, topology, enable,
     "Green contexts: contexts that own a part of a device's multiprocessors.",
     COL(u32, contextId, "the green context"), COL(u32, parentContextId, "context it belongs to"),
     COL(u32, deviceId, "its device"),
     COL(u32, numTpcs, "[count] texture processing clusters (TPC) it owns"),
     COL(u16, numMultiprocessors, "[count] multiprocessors it owns"),
     COL(u8, logicalTpcMaskSize, "u32 words of logicalTpcMask in use"),
     BLOB(128, logicalTpcMask, "bit mask of the TPCs it owns, 32 words of u32"),
     since(130201, COL(u64, workqueueResourceId, "its work queue; 0 = not known")),
     since(130201,
           COL(u32, workqueueConcurrencyLimit, "[count] operations at a time in that queue")),
     since(130201, COL(u32, workqueueSharingScope, "enum CUdevWorkqueueConfigScope")),
     since(130400, COL(u32, workqueueChannelCount,
                       "[count] hardware channels of the queue; 0 = not known")),
     since(130400, BLOB(128, workqueueChannelIds, "those channels, 32 words of u32")))

KIND(NvLink, 40, NVLINK, CUpti_ActivityNvLink5, topology, enable_and_dump,
     "NVLink connections between two devices; the physical links of a pair are one row.",
     COL(u32, nvlinkVersion, "version of NVLink"),
     COL(u32, typeDev0, "what end 0 is: enum CUpti_DevType"),
     COL(u32, typeDev1, "what end 1 is: enum CUpti_DevType"),
     BLOB(16, idDev0, "end 0: DEVICE.uuid of a GPU; index and domain of an NPU, as two u32"),
     BLOB(16, idDev1, "end 1: DEVICE.uuid of a GPU; index and domain of an NPU, as two u32"),
     COL(u32, flag, "what the link can do: enum CUpti_LinkFlag, bits"),
     COL(u32, physicalNvLinkCount, "[count] physical links"),
     follows_pointer(CUSTOM(blob, 32, "portDev0", extract::nvlink_port0,
                            "port of each link at end 0, a signed byte each; -1 = unused")),
     follows_pointer(CUSTOM(blob, 32, "portDev1", extract::nvlink_port1,
                            "port of each link at end 1, a signed byte each; -1 = unused")),
     CUSTOM(u64, 8, "bandwidth", extract::nvlink_bandwidth, "[kB/s] bandwidth of all links"),
     CUSTOM(u8, 1, "nvswitchConnected", extract::nvlink_nvswitch,
            "1 = an NVSwitch is in between"))

KIND(Pcie, 46, PCIE, CUpti_ActivityPcie, topology, enable_and_dump,
     "Devices and bridges on the PCI Express bus.",
     COL(u32, type, "device or bridge: enum CUpti_PcieDeviceType"),
     BLOB(4, id, "the device or bridge; read deviceId or bridgeId"),
     COL(u32, domain, "PCI domain"),
     COL(u16, pcieGeneration, "PCI Express generation: enum CUpti_PcieGen"),
     COL(u16, linkRate, "[GT/s] transfers of the link"),
     COL(u16, linkWidth, "[count] lanes of the link"),
     COL(u16, upstreamBus, "bus it is connected to"),
     BLOB(144, attr,
          "GPU: UUID, then the devices it can reach directly, 32 words of i32; bridge: its "
          "secondary bus, device and vendor, three u16, to be read as columns"),
     NULLABLE(u32, "deviceId", extract::pcie_device, "the device, NULL for a bridge"),
     NULLABLE(u32, "bridgeId", extract::pcie_bridge, "the bridge, NULL for a device"),
     NULLABLE(u32, "secondaryBus",
              extract::pcie_bridge_attribute<&CUpti_ActivityPcieBridgeAttr::secondaryBus>,
              "secondary bus of a bridge: upstreamBus of the devices on it, else NULL"),
     NULLABLE(u32, "pciDeviceId",
              extract::pcie_bridge_attribute<&CUpti_ActivityPcieBridgeAttr::deviceId>,
              "PCI device id of a bridge, else NULL"),
     NULLABLE(u32, "pciVendorId",
              extract::pcie_bridge_attribute<&CUpti_ActivityPcieBridgeAttr::vendorId>,
              "PCI vendor id of a bridge, else NULL"))

#define GPUPROF_ENVIRONMENT(name_, KIND_, part, Part, member, doc_)                              \
  NULLABLE(u32, name_,                                                                           \
           (extract::environment<CUPTI_ACTIVITY_ENVIRONMENT_##KIND_,                             \
                                 &decltype(CUpti_ActivityEnvironment::data)::part,               \
                                 &CUpti_ActivityEnvironment##Part::member>),                     \
           doc_)

KIND(Environment, 20, ENVIRONMENT, CUpti_ActivityEnvironment, environment, enable,
     "Clocks, temperature, power and fan of the devices, read from time to time.",
     COL(u32, deviceId, "the device"), COL(u64, timestamp, "[ns] when, on CUPTI's clock"),
     COL(u32, environmentKind, "what was read: enum CUpti_ActivityEnvironmentKind"),
     BLOB(20, data, "what was read, as CUPTI lays it out; the columns after it have it too"),
     GPUPROF_ENVIRONMENT("smClock", SPEED, speed, Speed, smClock,
                         "[MHz] clock of the multiprocessors; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("memoryClock", SPEED, speed, Speed, memoryClock,
                         "[MHz] clock of the memory; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("pcieLinkGen", SPEED, speed, Speed, pcieLinkGen,
                         "PCI Express generation in use; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("pcieLinkWidth", SPEED, speed, Speed, pcieLinkWidth,
                         "[count] PCI Express lanes in use; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("clocksThrottleReasons", SPEED, speed, Speed, clocksThrottleReasons,
                         "why clocks are low: enum CUpti_EnvironmentClocksThrottleReason, bits; "
                         "NULL for other kinds"),
     GPUPROF_ENVIRONMENT("gpuTemperature", TEMPERATURE, temperature, Temperature, gpuTemperature,
                         "[Celsius] temperature; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("power", POWER, power, Power, power,
                         "[mW] power drawn; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("powerLimit", POWER, power, Power, powerLimit,
                         "[mW] power it may draw; NULL for other kinds"),
     GPUPROF_ENVIRONMENT("fanSpeed", COOLING, cooling, Cooling, fanSpeed,
                         "[%] speed of the fan, of its maximum; NULL for other kinds"))

using TopologyKinds = std::tuple<Device, Context, DeviceAttribute, Stream, GreenContext, NvLink,
                                 Pcie, Environment>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
