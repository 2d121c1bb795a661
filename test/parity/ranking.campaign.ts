import { questions, testRankings } from "./rankings.ts";

testRankings(questions);
