import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowServer
import SkyrowSystem

extension SettingsLoader {
    /// The loader of the settings of a command that uses files.
    var withFiles: SettingsLoader {
        var loader = self
        loader.groups.append(FileSettings.self)
        return loader
    }
}

extension Settings {
    /// Opens the files of the command's application.
    ///
    /// Throws ``ToolError`` if their directory does not exist, or cannot be used. The one for uploads to a bucket is made.
    func openFiles() async throws(ToolError) -> any FileStorage {
        guard self.files.storage == .s3 || isDirectory(fileDirectory) else {
            throw .failure("The directory \(fileDirectory) does not exist: set file-directory to that of the service.")
        }
        return try await makeFiles()
    }

    /// Opens the files of the command's application, and makes their directory if it does not exist.
    func makeFiles() async throws(ToolError) -> any FileStorage {
        let local = try await LocalFileStorage(in: fileDirectory, of: self.application.name)
        guard let bucket = try bucketStorage(of: self.application.name, spoolingIn: local) else { return local }
        return bucket
    }

    /// Opens files of the command's application in a directory, which is made if it does not exist.
    func openFiles(in directory: String) async throws(ToolError) -> any FileStorage {
        try await LocalFileStorage(in: directory, of: self.application.name)
    }

    /// The files for the doctor; nil if the service has none.
    var examinedFiles: DoctorFiles? {
        get async {
            guard self.files.storage != .off else { return nil }
            let name = self.application.name
            let directory = "\(fileDirectory)/\(name)"
            if self.files.storage == .s3 {
                let local = LocalFileStorage(existingIn: fileDirectory, of: name)
                return DoctorFiles(
                    directory: "the bucket \(self.files.s3Bucket ?? "")",
                    storage: try? bucketStorage(of: name, spoolingIn: local),
                    isBucket: true
                )
            }
            // Opening makes missing directories, and the doctor changes nothing.
            guard isDirectory("\(directory)/incoming") else { return DoctorFiles(directory: directory, storage: nil) }
            return DoctorFiles(directory: directory, storage: try? await openFiles())
        }
    }
}
