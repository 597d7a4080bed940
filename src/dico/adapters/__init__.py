"""DiCo inside other libraries; each adapter needs its library installed."""
