import SkyrowJSON
import SkyrowModel

extension SessionDevice {
    /// Reads `device_id` and `device_name`.
    init(_ parameters: Parameters) throws(SkyrowError) {
        self.init(id: try parameters.string("device_id"), name: try parameters.string("device_name"))
        guard id?.isName ?? true else { throw SessionDevice.misfit("device_id") }
        guard name?.isName ?? true else { throw SessionDevice.misfit("device_name") }
    }

    private static func misfit(_ name: String) -> SkyrowError {
        .invalidArgument("The id and the name of a device must be 1 to 255 bytes without NUL.", name)
    }
}

extension JSONWriter {
    /// The members of a login that say for which device it is.
    func device(_ device: SessionDevice) {
        optional("device_id", device.id)
        optional("device_name", device.name)
    }

    private func optional(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }
}
