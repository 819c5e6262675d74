/** What a security's returns are expected to be, estimated on the bars before an event. */
export interface ReturnModel {
  alpha: number
  /** 0 of the mean-adjusted model. */
  beta: number
  /** Abnormal returns of the estimation window. */
  residuals: Float64Array
  /** Σ residuals² / df */
  variance: number
  /** L - 2 of the market model, L - 1 of the mean-adjusted one. */
  df: number
  /** Mean and Σ(Rm - mean)² of the market in the estimation window; 0 of the mean-adjusted model. */
  marketMean: number
  marketSquares: number
}

/** One event as every test takes it. */
export interface AbnormalEvent {
  /** Abnormal returns of the estimation window, oldest first. */
  estimation: Float64Array
  /** Abnormal returns of the bars 1..h after the event. */
  event: Float64Array
  /** Σ event, and its variance, the error of the estimated model included. */
  car: number
  carVariance: number
  /** Degrees of freedom of the model's variance. */
  df: number
}

/**
 * Market model: R = alpha + beta Rm + e, least squares (MacKinlay, "Event studies in economics and finance", 1997).
 * null of fewer than three bars, or where the market or the residuals do not move.
 */
export function marketModel(returns: Float64Array, market: Float64Array): ReturnModel | null {
  const n = returns.length
  if (n !== market.length) throw new RangeError(`${n} returns, but ${market.length} of the market`)
  if (n < 3) return null
  const [mean, marketMean] = [meanOf(returns), meanOf(market)]
  let marketSquares = 0
  let products = 0
  for (let i = 0; i < n; i++) {
    marketSquares += (market[i]! - marketMean) ** 2
    products += (market[i]! - marketMean) * (returns[i]! - mean)
  }
  if (marketSquares === 0) return null
  const beta = products / marketSquares
  const alpha = mean - beta * marketMean
  const residuals = returns.map((value, i) => value - alpha - beta * market[i]!)
  return withVariance({ alpha, beta, residuals, df: n - 2, marketMean, marketSquares })
}

/** Mean-adjusted returns: R = alpha + e (Brown & Warner 1985). null of fewer than two bars, or where they do not move. */
export function meanAdjusted(returns: Float64Array): ReturnModel | null {
  if (returns.length < 2) return null
  const alpha = meanOf(returns)
  const residuals = returns.map(value => value - alpha)
  return withVariance({ alpha, beta: 0, residuals, df: returns.length - 1, marketMean: 0, marketSquares: 0 })
}

/** Returns less what the model expects of them. Without a market: of the mean-adjusted model. */
export function abnormalReturns(model: ReturnModel, returns: Float64Array, market?: Float64Array): Float64Array {
  return returns.map((value, i) => value - model.alpha - (market === undefined ? 0 : model.beta * market[i]!))
}

/**
 * The event of a model: cumulative abnormal return over the h bars given, and its variance
 * s² (h + h²/L + (Σ(Rm - mean))² / Sxx), the last term of the market model alone (Patell 1976; MacKinlay 1997).
 */
export function abnormalEvent(model: ReturnModel, returns: Float64Array, market?: Float64Array): AbnormalEvent {
  const event = abnormalReturns(model, returns, market)
  const h = event.length
  const drift = market === undefined ? 0 : market.reduce((sum, value) => sum + value - model.marketMean, 0)
  const ofMarket = model.marketSquares === 0 ? 0 : drift ** 2 / model.marketSquares
  return {
    estimation: model.residuals,
    event,
    car: event.reduce((sum, value) => sum + value, 0),
    carVariance: model.variance * (h + h ** 2 / model.residuals.length + ofMarket),
    df: model.df,
  }
}

function withVariance(model: Omit<ReturnModel, 'variance'>): ReturnModel | null {
  const variance = model.residuals.reduce((sum, value) => sum + value * value, 0) / model.df
  return variance > 0 ? { ...model, variance } : null
}

function meanOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
