// Runs before the page is painted, so that nobody who chose a dark page meets a white flash.
const chosen = localStorage.getItem('scoreline.theme')
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['theme'] = chosen
