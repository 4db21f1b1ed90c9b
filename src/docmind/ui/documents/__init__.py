"""Components of the documents page: the library, uploads, embedding."""
