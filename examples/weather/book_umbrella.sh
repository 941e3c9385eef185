# A tool is any command: the arguments come as JSON on standard input, the answer goes to standard output.
# What is written to standard error with an exit status other than 0 is told to the model as an error.
case $(cat) in
*'"city":""'*) echo 'say in which city' >&2; exit 1 ;;
esac
echo '{"booked": true, "where": "at the station", "eur": 5}'
