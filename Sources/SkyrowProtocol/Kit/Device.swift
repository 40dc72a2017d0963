import SkyrowModel

// The parameters of a login that describe the device.

extension SessionDevice {
    /// A part of the parameters of a login.
    static let parameters = Form(
        SessionDevice.init(id:name:),
        Member(optional: "device_id", \.id, .string(1...maximumBytes), "The application's id of the device."),
        Member(optional: "device_name", \.name, .string(1...maximumBytes), "The name of the device, for the user.")
    )
}
