print("skyrow")
