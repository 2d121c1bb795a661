-- Returns only the namespace's facts.
return {facts}
