// Streams and CUDA graphs of libtorch.
//
// Streams and the allocator have interfaces in c10, which libtorch_cuda registers for when it is opened, at run time; at::cuda::CUDAGraph has
// none. It is called by the names of its symbols: nothing may link to libtorch_cuda, and its header wants those of CUDA (nvidia-cuda-runtime
// and -crt), which a libtorch of one's own does not bring. A mangled name holds the types of all arguments: where one changes, the symbol is
// missing, and that is said. All of this throws, which Rust cannot catch; hence C++.

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <memory>

namespace {

using c10::MempoolId_t;
using c10::StreamData3;

// Other threads may allocate and free while a step is captured (cudaStreamCaptureModeRelaxed).
constexpr int RELAXED = 2;

template <class F> F* symbol(const char* name) {
    void* found = dlsym(RTLD_DEFAULT, name);
    TORCH_CHECK(found, "this libtorch has no ", name);
    return reinterpret_cast<F*>(found);
}

// at::cuda::CUDAGraph, in room that is larger than it is (about 130 bytes).
struct Graph {
    alignas(64) unsigned char room[4096] = {};

    Graph() { symbol<void(void*, bool)>("_ZN2at4cuda9CUDAGraphC1Eb")(room, false); }
    ~Graph() { symbol<void(void*)>("_ZN2at4cuda9CUDAGraphD1Ev")(room); }
    void begin(MempoolId_t pool) {
        const auto name = "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode";
        symbol<void(void*, MempoolId_t, int)>(name)(room, pool, RELAXED);
    }
    void end() { symbol<void(void*)>("_ZN2at4cuda9CUDAGraph11capture_endEv")(room); }
    void replay() {
        static const auto replay = symbol<void(void*)>("_ZN2at4cuda9CUDAGraph6replayEv");
        replay(room);
    }
};

const c10::impl::DeviceGuardImplInterface* cuda() { return c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA); }

c10::Device device(int number) { return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(number)}; }

// What went wrong, for `free`, or null.
template <class Work> char* caught(Work work) {
    try {
        work();
        return nullptr;
    } catch (const std::exception& error) {
        return strdup(error.what());
    } catch (...) {
        return strdup("an exception of an unknown type");
    }
}

} // namespace

extern "C" {

char* reynolds_stream_of_pool(int number, StreamData3* stream) {
    return caught([=] { *stream = cuda()->getStreamFromGlobalPool(device(number)).pack3(); });
}

// Makes `stream` the current one of this thread; `before` is the one so far.
char* reynolds_stream_set(const StreamData3* stream, StreamData3* before) {
    return caught([=] {
        const auto next = c10::Stream::unpack3(stream->stream_id, stream->device_index, stream->device_type);
        *before = cuda()->exchangeStream(next).pack3();
    });
}

// The current stream of this thread as the driver knows it.
char* reynolds_stream_raw(int number, void** raw) {
    return caught([=] { *raw = cuda()->getStreamNativeHandle(cuda()->getStream(device(number))); });
}

char* reynolds_graph_pool(MempoolId_t* pool) {
    return caught([=] { *pool = symbol<MempoolId_t()>("_ZN2at4cuda17graph_pool_handleEv")(); });
}

// Begins to capture on the current stream, which is not the default one, with memory that nobody holds given back first.
char* reynolds_graph_begin(const MempoolId_t* pool, Graph** graph) {
    return caught([=] {
        c10::getDeviceAllocator(c10::DeviceType::CUDA)->emptyCache();
        auto made = std::make_unique<Graph>();
        made->begin(*pool);
        *graph = made.release();
    });
}

char* reynolds_graph_end(Graph* graph) {
    return caught([=] { graph->end(); });
}

char* reynolds_graph_replay(Graph* graph) {
    return caught([=] { graph->replay(); });
}

void reynolds_graph_delete(Graph* graph) {
    free(caught([=] { delete graph; }));
}
}
