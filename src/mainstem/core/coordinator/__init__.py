"""What coordinators share: state that is changed only by replaying records of an internal topic."""
