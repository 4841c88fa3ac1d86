// Runs before the first paint, so that a dark page does not flash white.
const chosen = localStorage.getItem('scoreline.theme')
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['theme'] = chosen
