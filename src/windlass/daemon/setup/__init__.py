"""What a person does now and then: init, configuration, doctor, drivers and their trust."""
