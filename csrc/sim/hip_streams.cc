// Streams and events. Work is done when the call that asks for it returns, so all of them are ready at any time.
#include "sim/hip.h"

namespace sim::hip {

void check_stream(State& all, const void* stream) {
  if (!is_default(stream) && !all.streams.contains(stream)) wrong(invalid_handle, "the stream is none of this process's");
}

namespace {

void make_stream(void** stream, unsigned flags, int priority) {
  State& all = state();
  auto made = std::make_unique<Stream>(Stream{current_ordinal(), flags, priority});
  *stream = made.get();
  all.streams.emplace(*stream, std::move(made));
}

Event& event_at(State& all, const void* event) {
  const auto found = all.events.find(event);
  if (found == all.events.end()) wrong(invalid_handle, "the event is none of this process's");
  return *found->second;
}

Stream& stream_at(State& all, const void* stream) {
  const auto found = all.streams.find(stream);
  if (found == all.streams.end()) wrong(invalid_handle, "the stream is none of this process's");
  return *found->second;
}

} // namespace
} // namespace sim::hip

using namespace sim::hip;

HIP_API int hipStreamCreate(void** stream) {
  return locked([&](State&) { make_stream(stream, 0, 0); });
}
HIP_API int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  return locked([&](State&) { make_stream(stream, flags, 0); });
}
HIP_API int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return locked([&](State&) { make_stream(stream, flags, priority); });
}
HIP_API int hipDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = *greatest = 0, success; }
HIP_API int hipStreamDestroy(void* stream) {
  return locked([&](State& all) { stream_at(all, stream), all.streams.erase(stream); });
}
HIP_API int hipStreamSynchronize(void* stream) {
  return locked([&](State& all) { check_stream(all, stream); });
}
HIP_API int hipStreamQuery(void* stream) { return hipStreamSynchronize(stream); }
HIP_API int hipStreamGetFlags(void* stream, unsigned* flags) {
  return locked([&](State& all) { *flags = is_default(stream) ? 0 : stream_at(all, stream).flags; });
}
HIP_API int hipStreamGetPriority(void* stream, int* priority) {
  return locked([&](State& all) { *priority = is_default(stream) ? 0 : stream_at(all, stream).priority; });
}
HIP_API int hipStreamGetDevice(void* stream, int* ordinal) {
  return locked([&](State& all) { *ordinal = is_default(stream) ? current_ordinal() : stream_at(all, stream).device; });
}
HIP_API int hipStreamWaitEvent(void* stream, void* event, unsigned) {
  return locked([&](State& all) { check_stream(all, stream), event_at(all, event); });
}
HIP_API int hipStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned) {
  const int error = hipStreamSynchronize(stream);
  if (error == success) function(stream, success, data);
  return error;
}
HIP_API int hipLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  const int error = hipStreamSynchronize(stream);
  if (error == success) function(data);
  return error;
}
HIP_API int hipStreamIsCapturing(void* stream, int* status) {
  *status = 0;
  return hipStreamSynchronize(stream);
}
HIP_API int hipStreamBeginCapture(void*, int) {
  return call([] { wrong(not_supported, "the simulator captures no graphs"); });
}
HIP_API int hipThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  return std::swap(*mode, current), success;
}
HIP_API int hipDeviceSynchronize() { return success; }

HIP_API int hipEventCreateWithFlags(void** event, unsigned flags) {
  return locked([&](State& all) {
    auto made = std::make_unique<Event>(Event{flags});
    *event = made.get();
    all.events.emplace(*event, std::move(made));
  });
}
HIP_API int hipEventCreate(void** event) { return hipEventCreateWithFlags(event, 0); }
HIP_API int hipEventDestroy(void* event) {
  return locked([&](State& all) { event_at(all, event), all.events.erase(event); });
}
HIP_API int hipEventRecord(void* event, void* stream) {
  return locked([&](State& all) {
    check_stream(all, stream);
    Event& found = event_at(all, event);
    found.recorded = true;
    found.at = std::chrono::steady_clock::now();
  });
}
HIP_API int hipEventSynchronize(void* event) {
  return locked([&](State& all) { event_at(all, event); });
}
HIP_API int hipEventQuery(void* event) { return hipEventSynchronize(event); }
// Time on this machine, which says nothing of a GPU's.
HIP_API int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
  return locked([&](State& all) {
    const Event &first = event_at(all, start), &second = event_at(all, stop);
    if (!first.recorded || !second.recorded) wrong(invalid_handle, "the event was not recorded");
    *milliseconds = std::chrono::duration<float, std::milli>(second.at - first.at).count();
  });
}
