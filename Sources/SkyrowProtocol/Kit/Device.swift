import SkyrowModel

// The parameters of a login that describe the device.

extension SessionDevice {
    /// A part of the parameters of a login.
    static let parameters = Form(SessionDevice.init(id:name:), id(\.id), name(\.name))

    static func id<Root>(_ path: any Swift.KeyPath<Root, String?> & Sendable) -> Member<Root, String?> {
        Member(optional: "device_id", path, .string(1...maximumBytes), "By what the application recognises the device.")
    }

    static func name<Root>(_ path: any Swift.KeyPath<Root, String?> & Sendable) -> Member<Root, String?> {
        Member(optional: "device_name", path, .string(1...maximumBytes), "By what the user recognises the device.")
    }
}
