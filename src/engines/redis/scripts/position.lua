-- The namespace's facts alone.
return {facts}
