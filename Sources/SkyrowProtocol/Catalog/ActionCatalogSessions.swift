import SkyrowModel

extension ActionCatalog {
    /// The parameters of a login that describe the device.
    static let device = [
        ActionParameter(
            "device_id",
            "What the application recognises the device by.",
            .nullable(.string(maximum: SessionDevice.maximumBytes))
        ),
        ActionParameter(
            "device_name",
            "What the user recognises the device by.",
            .nullable(.string(maximum: SessionDevice.maximumBytes))
        ),
    ]
}
