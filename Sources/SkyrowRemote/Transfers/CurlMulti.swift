import CLibcurl
import SkyrowConcurrency

/// libcurl's state of many transfers and their connections. One thread uses it; other threads only wake that thread.
final class CurlMulti: Sendable {
    private let owned: OwnedPointer

    /// nil without memory.
    init?() {
        guard let pointer = skyrow_curl_make_multi() else { return nil }
        owned = OwnedPointer(OpaquePointer(pointer)) { skyrow_curl_free_multi(UnsafeMutableRawPointer($0)) }
    }

    private var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(owned.pointer) }

    func set(_ option: CURLMoption, _ number: Int) {
        skyrow_curl_multi_set_number(pointer, option, number)
    }

    /// Returns whether the transfer was added.
    func add(_ handle: UnsafeMutableRawPointer) -> Bool {
        skyrow_curl_multi_add(pointer, handle) == CURLM_OK
    }

    func remove(_ handle: UnsafeMutableRawPointer) {
        skyrow_curl_multi_remove(pointer, handle)
    }

    /// Does what can be done without waiting.
    func perform() {
        skyrow_curl_multi_perform(pointer)
    }

    /// Returns a transfer that has ended and its result; nil if there is no other.
    func nextEnded() -> (handle: UnsafeMutableRawPointer, code: CURLcode)? {
        var code = CURLE_OK
        return skyrow_curl_multi_next_finished(pointer, &code).map { ($0, code) }
    }

    /// Waits until there is something to do, but for a time at most.
    func wait(_ time: Duration) {
        skyrow_curl_multi_wait(pointer, Int32(clamping: Int(time / .milliseconds(1))))
    }

    /// Ends a wait of the thread, now or when it begins.
    func wake() {
        skyrow_curl_multi_wake(pointer)
    }
}
