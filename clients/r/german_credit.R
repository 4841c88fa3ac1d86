# From a card that was made in R to a checked endpoint, scores and outcomes.
#
#   SCORELINE_URL=… SCORELINE_TOKEN=… SCORELINE_KEY=… Rscript german_credit.R
#
# The token is of a service account (lead modeler), the key scores. It needs httr2 and jsonlite.
# The card is made in base R, as scorecard::scorecard() makes it; with that package it is
#   card <- data.table::rbindlist(scorecard::scorecard(bins, model, ...), fill = TRUE)
library(httr2)

here <- dirname(normalizePath(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))))
root <- file.path(here, "..", "..")
sample <- jsonlite::fromJSON(file.path(root, "src/cli/demo/german-credit/applicants.json"))
bad <- read.csv(file.path(root, "clients/python/examples/german-credit-outcomes.csv"),
                colClasses = c("character", "integer"))
data <- sample$applicant
data$bad <- bad$bad[match(sample$id, bad$id)]

# --- The card: weights of evidence, a logistic regression, and points ---
breaks <- list(duration_in_month = c(-Inf, 8, 16, 34, 44, Inf),
               credit_amount = c(-Inf, 1400, 3400, 9200, Inf),
               age_in_years = c(-Inf, 26, 35, Inf))
texts <- c("status_of_existing_checking_account", "credit_history", "savings_account_and_bonds")
features <- c(names(breaks), texts)
bin_of <- function(name, values) {
  if (!(name %in% names(breaks))) return(values)
  as.character(cut(values, breaks[[name]], right = FALSE, dig.lab = 10))
}
binned <- as.data.frame(sapply(features, function(name) bin_of(name, data[[name]])))
table_of <- function(name) {
  bads <- tapply(data$bad, binned[[name]], sum)
  count <- tapply(data$bad, binned[[name]], length)
  woe <- log((bads / sum(bads)) / ((count - bads) / sum(count - bads)))
  data.frame(variable = name, bin = names(count), count = c(count), pos = c(bads), woe = c(woe))
}
card <- do.call(rbind, lapply(features, table_of))
points_of <- function(column) {
  function(name) card[[column]][match(paste(name, binned[[name]]), paste(card$variable, card$bin))]
}
woes <- as.data.frame(sapply(features, points_of("woe")))
model <- glm(data$bad ~ ., binomial(), woes)
factor <- 50 / log(2) # 50 points double the odds; 600 points stand for odds of 1:19
card$points <- round(-factor * coef(model)[card$variable] * card$woe)
base <- round(600 + factor * log(1 / 19) - factor * coef(model)[["(Intercept)"]])
card <- rbind(data.frame(variable = "basepoints", bin = NA, count = NA, pos = NA, woe = NA,
                         points = base), card)
score <- base + rowSums(sapply(features, points_of("points")))

# --- The endpoint: registered only if the service gives each applicant the same score ---
call <- function(path, body, secret = "SCORELINE_TOKEN", method = "POST", ...) {
  request(Sys.getenv("SCORELINE_URL")) |> req_url_path(path) |> req_url_query(...) |>
    req_method(method) |> req_auth_bearer_token(Sys.getenv(secret)) |>
    req_retry(max_tries = 5) |> req_error(body = function(answer) resp_body_string(answer)) |>
    (\(r) if (is.null(body)) r else req_body_json(r, body, digits = NA))() |>
    req_perform() |> resp_body_json()
}
csv <- function(frame) {
  paste(capture.output(write.csv(frame, row.names = FALSE, na = "")), collapse = "\n")
}
imported <- call("/v1/models/import", list(
  tool = "r-scorecard", name = "German credit from R", version = "1", card = csv(card),
  scaling = list(pdo = 50, base_score = 600, odds = "1/19", odds_direction = "bad:good"),
  unseen = "missing", sample = csv(cbind(id = sample$id, data[features], score = score)),
  register = list(environment = "production", auto_deploy = TRUE)
))
if (is.null(imported$registered)) stop(jsonlite::toJSON(imported, auto_unbox = TRUE, pretty = TRUE))
slug <- imported$registered$deployment$slug

# --- Scores: as the applications come in, with their numbers ---
records <- lapply(seq_len(nrow(data)), function(row) {
  c(id = sample$id[row], as.list(data[row, features]))
})
answer <- call(paste0("/v1/score/", slug, "/batch"), list(records = records), "SCORELINE_KEY")
scored <- vapply(answer$results, function(one) one$score, numeric(1))
stopifnot(identical(scored, as.numeric(score)))

# --- Outcomes: a year later ---
invisible(call("/v1/outcome-definitions/gb12", list(
  label = "Bad within 12 months", window_months = 12, bad_rule_text = "90 days past due",
  maturity_months = 12
), method = "PUT"))
outcomes <- lapply(seq_len(nrow(data)), function(row) list(
  request_id = answer$request_id, record_index = row - 1, kind = "performance",
  definition = "gb12", outcome = if (data$bad[row] == 1) "bad" else "good",
  as_of = format(Sys.time(), "%Y-%m-%dT%H:%M:%SZ", tz = "UTC")
))
accepted <- call("/v1/outcomes", list(outcomes = outcomes), "SCORELINE_KEY")
performance <- call(paste0("/v1/deployments/", slug, "/performance"), NULL, method = "GET",
                    definition = "gb12")
cat(sprintf("%s: %d scores equal; AUC %.4f of %d applicants\n", slug, length(scored),
            performance$auc, performance$n))
