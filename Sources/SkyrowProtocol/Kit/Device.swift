import SkyrowModel

// The parameters of a login that describe the device.

extension SessionDevice {
    static func id<Root>(_ path: any Swift.KeyPath<Root, String?> & Sendable) -> Member<Root, String?> {
        Member(optional: "device_id", path, .string(1...maximumBytes), "What the application recognises the device by.")
    }

    static func name<Root>(_ path: any Swift.KeyPath<Root, String?> & Sendable) -> Member<Root, String?> {
        Member(optional: "device_name", path, .string(1...maximumBytes), "What the user recognises the device by.")
    }
}
