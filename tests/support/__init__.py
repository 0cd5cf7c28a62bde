"""What tests share: problems, manifolds, known answers, and the forms of messages."""
