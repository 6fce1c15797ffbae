"""Writes files with the tables of `nsys export --type sqlite`, following its documentation."""

import contextlib
import sqlite3

PREFIX = "CUPTI_ACTIVITY_KIND_"
BEGIN = 1_700_000_000_000_000_000  # TARGET_INFO_SESSION_START_TIME.utcEpochNs
SCHEMA = """
CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames(nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU(vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,
  busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER,
  memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT,
  chipName TEXT, cuDevice INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER,
  computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
  registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
  blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
  localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER,
  graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
  deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER,
  srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER,
  graphNodeId INTEGER, virtualAddress INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL,
  graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL,
  graphExecId INTEGER NOT NULL);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL,
  pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
  memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER,
  localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER,
  localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER,
  importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
  endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
  floatValue REAL, jsonTextId INTEGER, jsonText TEXT);
"""


def global_id(process, thread=0):
    """With a machine number in the high bits."""
    return 0x0100 << 48 | process << 24 | thread


class NsysFile:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.executescript(SCHEMA)
        self.strings = {}

    def string(self, text):
        number = self.strings.get(text)
        if number is None:
            number = self.strings[text] = len(self.strings) + 1
            self.add("StringIds", id=number, value=text)
        return number

    def add(self, table, **values):
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" for _ in values)
        self.connection.execute(f"INSERT INTO {table}({names}) VALUES({marks})",
                                list(values.values()))  # fmt: skip

    def close(self):
        self.connection.commit()
        self.connection.close()


def of_profile(path, profile):
    """What nsys would have exported for a run that gpuprof recorded. Durations, names, places and
    correlations are the run's; times count from its zero."""
    file = NsysFile(path)
    with contextlib.closing(sqlite3.connect(profile)) as source:
        source.row_factory = sqlite3.Row

        def rows(query):
            return source.execute(query).fetchall()

        zero = rows("SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0] - 1000
        file.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=zero)

        def where(row):
            return {
                "start": row["start"] - zero,
                "end": row["end"] - zero,
                "deviceId": row["deviceId"],
                "contextId": row["contextId"],
                "streamId": row["streamId"],
                "correlationId": row["correlationId"] & 0xFFFFFFFF,
                "globalPid": global_id(row["processId"]),
            }

        for row in rows("SELECT * FROM PROCESS"):
            file.add("PROCESSES", globalPid=global_id(row["processId"]), pid=row["processId"],
                     name=row["executable"])  # fmt: skip
        for row in rows("SELECT * FROM devices GROUP BY device_id"):
            major, minor = row["compute_capability"].split(".")
            file.add("TARGET_INFO_GPU", vmId=0, id=row["device_id"], cuDevice=row["device_id"],
                     name=row["name"], uuid=row["uuid"], totalMemory=row["memory"],
                     memoryBandwidth=row["memory_bandwidth"], clockRate=row["core_clock"],
                     smCount=row["multiprocessors"], l2CacheSize=row["l2_cache"],
                     computeMajor=int(major), computeMinor=int(minor))  # fmt: skip
        for row in rows(
            f"SELECT k.*, s.value, s.demangled, s.short FROM {PREFIX}CONCURRENT_KERNEL AS k "
            "JOIN StringTable AS s ON s._id_ = k.name WHERE start > 0"
        ):
            names = [file.string(row[key] or row["value"])
                     for key in ("value", "demangled", "short")]  # fmt: skip
            values = {key: row[key] for key in row.keys() if key in (
                "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "gridId",
                "sharedMemoryExecuted", "graphNodeId")}  # fmt: skip
            file.add(f"{PREFIX}KERNEL", **where(row), mangledName=names[0],
                     demangledName=names[1], shortName=names[2],
                     localMemoryTotal=row["localMemoryTotal_v2"], **values)  # fmt: skip
        for row in rows(f"SELECT * FROM {PREFIX}MEMCPY WHERE start > 0"):
            file.add(f"{PREFIX}MEMCPY", **where(row), bytes=row["bytes"],
                     copyKind=row["copyKind"], srcKind=(row["srcKind"] - 1) % 8,
                     dstKind=(row["dstKind"] - 1) % 8)  # fmt: skip
        for row in rows(f"SELECT * FROM {PREFIX}MEMSET WHERE start > 0"):
            file.add(f"{PREFIX}MEMSET", **where(row), bytes=row["bytes"], value=row["value"],
                     memKind=(row["memoryKind"] - 1) % 8)  # fmt: skip
        for row in rows(f"SELECT *, 0 AS deviceId FROM {PREFIX}SYNCHRONIZATION"):
            file.add(f"{PREFIX}SYNCHRONIZATION", **where(row), syncType=row["type"],
                     eventId=row["cudaEventId"])  # fmt: skip
        for row in rows(f"SELECT * FROM {PREFIX}GRAPH_TRACE WHERE start > 0"):
            file.add(f"{PREFIX}GRAPH_TRACE", **where(row), graphId=1,
                     graphExecId=row["graphId"])  # fmt: skip
        for number, table in enumerate(("RUNTIME", "DRIVER")):
            for row in rows(
                f"SELECT a.*, n.name FROM {PREFIX}{table} AS a JOIN API_NAME AS n "
                f"ON n.cbid = a.cbid AND n.domain = '{table.lower()}' WHERE start > 0"
            ):
                file.add(f"{PREFIX}RUNTIME", start=row["start"] - zero, end=row["end"] - zero,
                         eventClass=number, nameId=file.string(row["name"]),
                         globalTid=global_id(row["processId"], row["threadId"]),
                         correlationId=row["correlationId"] & 0xFFFFFFFF,
                         returnValue=row["returnValue"])  # fmt: skip
        domains = {}
        for row in rows(
            "SELECT r.*, n.value AS text, d.value AS domain_name FROM NVTX_RANGE AS r "
            "LEFT JOIN StringTable AS n ON n._id_ = r.name AND r.name != 0 "
            "LEFT JOIN StringTable AS d ON d._id_ = r.domain AND r.domain != 0"
        ):
            thread = global_id(row["processId"], row["threadId"])
            place = (row["processId"], row["domain_name"])
            if row["domain_name"] and place not in domains:
                domains[place] = len(domains) + 1
                file.add("NVTX_EVENTS", start=0, eventType=75, text=row["domain_name"],
                         globalTid=thread, domainId=domains[place])  # fmt: skip
            text = {"textId": file.string(row["text"])} if row["text"] else {}
            if row["_id_"] % 2 and row["text"]:  # it may be in either place
                text = {"text": row["text"]}
            file.add("NVTX_EVENTS", start=row["start"] - zero,
                     end=None if row["stop"] is None else row["stop"] - zero,
                     eventType=59 if row["kind"] == "push_pop" else 60, globalTid=thread,
                     domainId=domains.get(place, 0), **text)  # fmt: skip
        for row in rows(
            f"SELECT n.processId, n.threadId, s.value FROM {PREFIX}NAME AS n "
            "JOIN StringTable AS s ON s._id_ = n.name WHERE objectKind = 2"
        ):
            file.add("ThreadNames", nameId=file.string(row["value"]),
                     globalTid=global_id(row["processId"], row["threadId"]))  # fmt: skip
    file.close()
